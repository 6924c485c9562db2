"""Parts of Argo CD 3.6 that no whysync command reaches; they exist to answer the vectors about them."""

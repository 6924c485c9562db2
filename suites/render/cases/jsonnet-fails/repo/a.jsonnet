{
  kind: error "no kind",
}

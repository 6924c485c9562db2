{kind: "A", data: importstr "/etc/passwd"}

module millrace.example/millrace

go 1.23

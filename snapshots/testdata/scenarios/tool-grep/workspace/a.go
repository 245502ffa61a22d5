package a

func Exported() {}

func private() {}

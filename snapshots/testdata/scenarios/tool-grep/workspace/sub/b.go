package b

func Also() {}

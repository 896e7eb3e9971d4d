package rules

func packageRows() []Row { return nil }

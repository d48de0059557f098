package sqlproc

// Clustering is the service that run_clustering and show_clustering call.
type Clustering interface{}

func (p *Procedures) clusteringProcedures() []*Procedure { return nil }

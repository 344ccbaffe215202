//! Language models: providers behind the port [`Model`](crate::services::Model).

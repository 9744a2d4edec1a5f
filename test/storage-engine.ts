/** The storage plugin of the gateways of this run: `SVC_DATABASE_URL` puts their tables into a PostgreSQL server. */
export const STORAGE = process.env["SVC_DATABASE_URL"] === undefined ? "storage-sqlite" : "storage-postgres";

/** Reads the address of a database. Pure. */
import { createHash } from "node:crypto";
import type { ClientConfig } from "pg";
import { parseIntoClientConfig } from "pg-connection-string";

export interface Address {
  readonly config: ClientConfig;
  readonly schema: string;
  /** Without credentials, for people: `postgres://host:5432/name/schema`. */
  readonly location: string;
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;
const LOCAL = new Set(["", "localhost", "127.0.0.1", "::1", "[::1]"]);

/**
 * Choice: a server on another machine needs TLS with a valid certificate, unless `sslmode` says otherwise. `schema=svc_*`: the star
 * becomes a digest of the state directory, so that gateways with different states can share an address.
 * @throws Error naming the mistake, without the address: it contains a password
 */
export function parseAddress(url: string, stateDir: string): Address {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error(`the address of the database is not a URL; ${SHAPE}`);
  }
  if (parsed.protocol !== "postgres:" && parsed.protocol !== "postgresql:")
    throw new Error(`the address of the database begins with ${parsed.protocol}//; ${SHAPE}`);
  const digest = createHash("sha256").update(stateDir).digest("hex").slice(0, 16);
  const schema = (parsed.searchParams.get("schema") ?? "svc").replace("*", digest);
  if (!SCHEMA.test(schema))
    throw new Error(`the schema "${schema}" has other characters than a-z, 0-9 and _; change it in the address`);
  parsed.searchParams.delete("schema");
  const config = parseIntoClientConfig(parsed.href);
  const { host = "", port = 5432, database = "", user } = config;
  const isLocal = LOCAL.has(host) || host.startsWith("/");
  const ssl = parsed.searchParams.has("sslmode") || isLocal ? {} : { ssl: { rejectUnauthorized: true } };
  const name = database === "" ? (user ?? "") : database;
  return { config: { ...config, ...ssl }, schema, location: `postgres://${host}:${port}/${name}/${schema}` };
}

const SHAPE = "use postgres://user:password@host:5432/database";

/** Resolves names with the resolver of this machine. */
import { lookup } from "node:dns/promises";

/** All addresses of a name, in the resolver's order. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** @throws the error of the resolver */
export const resolveName: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** What an agent is told when the file system does not do what it is asked for. */
import { GatewayError } from "@svc/sdk";

/** By error code: why, and what to do. */
const CAUSES: ReadonlyMap<unknown, readonly [code: "INVALID_REQUEST" | "UNAVAILABLE", why: string]> = new Map([
  ["ENAMETOOLONG", ["INVALID_REQUEST", "the name is too long; choose a shorter one"]],
  ["EACCES", ["INVALID_REQUEST", "the gateway may not do that there; an operator can set its permissions right"]],
  ["EPERM", ["INVALID_REQUEST", "the gateway may not do that there; an operator can set its permissions right"]],
  ["EROFS", ["INVALID_REQUEST", "the disk can only be read"]],
  ["ENOENT", ["UNAVAILABLE", "it was taken away meanwhile; try again"]],
  ["ENOTDIR", ["UNAVAILABLE", "it changed meanwhile; try again"]],
  ["EISDIR", ["UNAVAILABLE", "it changed meanwhile; try again"]],
  ["ENOSPC", ["UNAVAILABLE", "the disk is full; an operator has to make room"]],
  ["EDQUOT", ["UNAVAILABLE", "the quota of the disk is used up; an operator has to make room"]],
  ["EIO", ["UNAVAILABLE", "the disk failed; an operator has to look after it"]],
  ["EMFILE", ["UNAVAILABLE", "too many files are open; try again"]],
  ["ENFILE", ["UNAVAILABLE", "too many files are open; try again"]],
]);

/** @param what the file @throws GatewayError instead of errors of the file system; all else as it is */
export async function withDiskRefusals<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const cause = CAUSES.get(code);
    if (!cause) throw error;
    throw new GatewayError(cause[0], `${what}: ${cause[1]}`, { cause: error });
  }
}

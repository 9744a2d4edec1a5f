/** The refusal a caller gets when the file system cannot do its work now. Pure. */
import { GatewayError } from "@svc/sdk";

/** Milliseconds after which it may be tried again. */
const RETRY_AFTER_MS = 1_000;

/** By error code; none of them is a mistake of the caller. */
const CAUSES: ReadonlyMap<unknown, string> = new Map([
  ["ENOSPC", "the disk is full; make room"],
  ["EDQUOT", "the quota of the disk is used up; make room"],
  ["EFBIG", "files may not grow any more; raise the limit of the process"],
  ["EIO", "the disk failed; look after it"],
  ["EMFILE", "too many files are open; close some connections"],
  ["ENFILE", "too many files are open on this machine"],
]);
const FORBIDDEN: ReadonlyMap<unknown, string> = new Map(
  ["EACCES", "EPERM", "EROFS"].map((code) => [code, "the gateway may not write there; set its permissions right"]),
);

/**
 * `UNAVAILABLE` with the cause and the next step; `undefined` for an error of another kind.
 * @param what the file or directory. @param isOurs its place was chosen by the operator, so that permissions are no mistake of the caller
 */
export function diskRefusal(error: unknown, what: string, { isOurs = false } = {}): GatewayError | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const why = CAUSES.get(code) ?? (isOurs ? FORBIDDEN.get(code) : undefined);
  if (why === undefined) return undefined;
  const message = `${what}: ${why}, then try again`;
  return new GatewayError("UNAVAILABLE", message, { retryAfterMs: RETRY_AFTER_MS, cause: error });
}

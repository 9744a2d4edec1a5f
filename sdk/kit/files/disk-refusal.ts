/** The refusal a caller gets when the file system cannot do what it is asked for: why, and what helps. */
import { GatewayError } from "@svc/sdk";

/** Milliseconds after which it may be tried again. */
const RETRY_AFTER_MS = 1_000;

type Causes = ReadonlyMap<unknown, string>;

/** By error code; none of them is a mistake of the caller. */
const MACHINE: Causes = new Map([
  ["ENOSPC", "the disk is full; an operator has to make room"],
  ["EDQUOT", "the quota of the disk is used up; an operator has to make room"],
  ["EFBIG", "files may not grow any more; an operator has to raise the limit of the process"],
  ["EIO", "the disk failed; an operator has to look after it"],
  ["EMFILE", "too many files are open; try again"],
  ["ENFILE", "too many files are open; try again"],
]);
const PERMISSIONS: Causes = new Map([
  ["EACCES", "the gateway may not do that there; an operator can set its permissions right"],
  ["EPERM", "the gateway may not do that there; an operator can set its permissions right"],
  ["EROFS", "the disk can only be read"],
]);
const CHANGED: Causes = new Map([
  ["ENOENT", "it was taken away meanwhile; try again"],
  ["ENOTDIR", "it changed meanwhile; try again"],
  ["EISDIR", "it changed meanwhile; try again"],
]);

/** Which errors besides those of the machine are refusals. */
export interface DiskRefusalOptions {
  /** `error.code` where the gateway lacks permissions. Default: such an error is no refusal. */
  readonly permissions?: "INVALID_REQUEST" | "UNAVAILABLE";
  /** The caller named the file, and it was there when that was checked: a name too long and a file gone are refusals. Default false. */
  readonly isNamed?: boolean;
}

/** `undefined` for an error of another kind. @param what the file or directory */
export function diskRefusal(
  error: unknown,
  what: string,
  { permissions, isNamed = false }: DiskRefusalOptions = {},
): GatewayError | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const forbidden = permissions && PERMISSIONS.get(code);
  if (isNamed && code === "ENAMETOOLONG")
    return new GatewayError("INVALID_REQUEST", `${what}: the name is too long; choose a shorter one`, { cause: error });
  if (forbidden !== undefined && permissions === "INVALID_REQUEST")
    return new GatewayError("INVALID_REQUEST", `${what}: ${forbidden}`, { cause: error });
  const why = forbidden ?? MACHINE.get(code) ?? (isNamed ? CHANGED.get(code) : undefined);
  if (why === undefined) return undefined;
  return new GatewayError("UNAVAILABLE", `${what}: ${why}`, { retryAfterMs: RETRY_AFTER_MS, cause: error });
}

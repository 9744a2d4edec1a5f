/** Error for a failed file system operation: its cause and a remedy. */
import { GatewayError } from "@svc/sdk";

/** Suggested retry delay in milliseconds. */
const RETRY_AFTER_MS = 1_000;

type Causes = ReadonlyMap<unknown, string>;

/** By error code; none of these is a mistake of the caller. */
const MACHINE: Causes = new Map([
  ["ENOSPC", "the disk is full; an operator must free some space"],
  ["EDQUOT", "the quota of the disk is used up; an operator must free some space"],
  ["EFBIG", "the file size limit of the process is reached; an operator must raise it"],
  ["EIO", "the disk failed; an operator must check it"],
  ["EMFILE", "too many files are open; try again"],
  ["ENFILE", "too many files are open; try again"],
]);
const PERMISSIONS: Causes = new Map([
  ["EACCES", "the gateway has no permission; an operator can fix the permissions"],
  ["EPERM", "the gateway has no permission; an operator can fix the permissions"],
  ["EROFS", "the disk is read-only"],
]);
const CHANGED: Causes = new Map([
  ["ENOENT", "it was removed meanwhile; try again"],
  ["ENOTDIR", "it changed meanwhile; try again"],
  ["EISDIR", "it changed meanwhile; try again"],
]);

/** Which errors other than machine errors become refusals. */
export interface DiskRefusalOptions {
  /** `error.code` for missing permissions. Default: such an error is not converted. */
  readonly permissions?: "INVALID_REQUEST" | "UNAVAILABLE";
  /**
   * The caller named the file, which existed when it was checked: a name that is too long or a file that vanished is a
   * refusal. Default false.
   */
  readonly isNamed?: boolean;
}

/** `undefined` for any other error. @param what the file or directory */
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

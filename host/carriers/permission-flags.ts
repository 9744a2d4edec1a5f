/** Command-line flags and environment that restrict a plugin's process. Pure. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { isInside } from "@svc/sdk/files";
import type { Permissions } from "../kernel/manifest.ts";

export interface PermissionFlagOptions {
  /** Directories of its code and of everything it imports. */
  readonly code: readonly string[];
  /** Its private directories, readable and writable. */
  readonly own: readonly string[];
  readonly permissions: Permissions;
  /** Flags the runtime supports. Default: those of this process. */
  readonly known?: ReadonlySet<string>;
  readonly home?: string;
}

/**
 * Runtime flags that deny everything except what the package asks for. Running programs is denied unless it asks for that;
 * programs run unrestricted, so that permission defeats the other limits.
 */
export function permissionFlags({
  code,
  own,
  permissions,
  known = process.allowedNodeEnvironmentFlags,
  home = homedir(),
}: PermissionFlagOptions): string[] {
  const { files = {}, exec = false, net = [] } = permissions;
  const meant = (path: string) => (path.startsWith("~/") ? join(home, path.slice(2)) : path);
  const readable = [...code, ...own, ...[...(files.read ?? []), ...(files.write ?? [])].map(meant)];
  const writable = [...own, ...(files.write ?? []).map(meant)];
  return [
    known.has("--permission") ? "--permission" : "--experimental-permission",
    ...outermost(readable).map((path) => `--allow-fs-read=${path}`),
    ...outermost(writable).map((path) => `--allow-fs-write=${path}`),
    ...(exec ? ["--allow-child-process"] : []),
    ...(net.length > 0 && known.has("--allow-net") ? ["--allow-net"] : []),
  ];
}

/** Drops paths inside other listed directories: a directory covers everything below it, and listing both crashes Node 20 with a failed assertion. */
function outermost(paths: readonly string[]): string[] {
  const absolute = [...new Set(paths.filter((path) => isAbsolute(path)).map((path) => resolve(path)))];
  return absolute.filter((path) => !absolute.some((other) => other !== path && isInside(other, path)));
}

/** The environment of such a process: the variables it asks for, and those every program needs. */
export function environmentOf(
  { env = [] }: Permissions,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const wanted = ["PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", ...env];
  return Object.fromEntries(
    wanted.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

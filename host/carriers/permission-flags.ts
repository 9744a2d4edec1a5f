/** What the runtime is told a plugin's process may do. Pure. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { isInside } from "@svc/sdk/files";
import type { Permissions } from "../kernel/manifest.ts";

export interface PermissionFlagOptions {
  /** Directories its code and what it imports lie in. */
  readonly code: readonly string[];
  /** Directories of its own. */
  readonly own: readonly string[];
  readonly permissions: Permissions;
  /** Options this runtime knows. Default: those of this process. */
  readonly known?: ReadonlySet<string>;
  readonly home?: string;
}

/**
 * Options of the runtime that deny everything but what the package asks for. Programs are denied unless it runs some, which
 * lifts all the rest: what a program does is not watched.
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

/** A directory stands for all below it, and naming some of that again ends Node 20 with a failed assertion. */
function outermost(paths: readonly string[]): string[] {
  const absolute = [...new Set(paths.filter((path) => isAbsolute(path)).map((path) => resolve(path)))];
  return absolute.filter((path) => !absolute.some((other) => other !== path && isInside(other, path)));
}

/** The environment of such a process: what it asks for by name, and what no program can do without. */
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

/** The file system visible to a sandboxed program. Pure. */
import { isInside } from "@svc/sdk/files";
import type { SandboxPlace, SandboxRules } from "./rules.ts";

/** One mount. Later mounts cover earlier ones. */
export type Mount =
  /** Same as on this machine. */
  | { readonly kind: "read" | "write"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly to: string }
  /** A private, empty, writable directory in memory. */
  | { readonly kind: "private"; readonly path: string }
  /** Hides the path: an empty directory, or a file that cannot be opened. */
  | { readonly kind: "nothing"; readonly path: string; readonly of: "file" | "directory" };

/** A file or directory of this machine. */
export interface Existing {
  readonly path: string;
  readonly of: "file" | "directory";
}

/**
 * @param system programs and settings of this machine, see `systemMounts`
 * @param hidden the existing entries of `place.stateDir` and `place.hidden`
 */
export function sandboxMounts(
  system: readonly Mount[],
  { readPaths, writePaths }: Pick<SandboxRules, "readPaths" | "writePaths">,
  { own, locked, home, shown: read = [] }: SandboxPlace,
  hidden: readonly Existing[],
): Mount[] {
  const roots = system.filter(({ kind }) => kind === "read").map(({ path }) => path);
  const shown = [...roots, ...readPaths, ...writePaths];
  const isBelow = (bases: readonly string[], path: string) =>
    bases.some((base) => path !== base && isInside(base, path));
  // A system user may have a system directory as its home; that directory stays visible.
  const isOwnHome = !roots.some((root) => isInside(home, root)) && home !== "/";
  const nothing = ({ path, of }: Existing): Mount => ({ kind: "nothing", path, of });
  return [
    ...system,
    ...["/tmp", "/var/tmp", ...(isOwnHome ? [home] : [])].map((path): Mount => ({ kind: "private", path })),
    ...readPaths.map((path): Mount => ({ kind: "read", path })),
    ...writePaths.map((path): Mount => ({ kind: "write", path })),
    ...hidden.filter(({ path }) => isBelow(shown, path)).map(nothing),
    ...own.map((path): Mount => ({ kind: "write", path })),
    ...hidden.filter(({ path }) => isBelow(own, path)).map(nothing),
    ...[...locked, ...read].map((path): Mount => ({ kind: "read", path })),
  ];
}

/** Parses the spec of an install: a registry package, or an archive, directory or git repository of this machine. */
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isPackageName } from "@svc/host/local";
import { InstallFailure } from "./failure.ts";

/** A parsed spec. */
export type InstallSpec =
  | { readonly source: "npm"; readonly name: string; readonly range: string | undefined }
  | { readonly source: "archive" | "directory"; readonly path: string }
  | { readonly source: "git"; readonly path: string; readonly ref: string | undefined };

/** Kind of the entry at a path. */
export type Look = (path: string) => "file" | "directory" | undefined;

/** Version, range or tag. A text with a colon or slash is none: it would refer to another source. */
const RANGE = /^[\w.+~^<>=*| -]+$/;

/** Characters of a branch, tag or commit; never interpreted as an option. */
const REF = /^[A-Za-z0-9_][\w./+@-]*$/;

const WAYS =
  "svc plugins install <name>[@<version>], ./<file>.tgz, ./<directory>, or a git repository on this machine as git+file:///<path>[#<ref>]";

/** Whether the text is written as a path. Any other text means the registry, even if a file of that name exists. */
function isPath(text: string): boolean {
  return /^(?:\.{1,2}(?:\/|$)|\/|~\/|file:)/.test(text) || isAbsolute(text);
}

/** Makes relative paths absolute, relative to `cwd`. Everything else stays unchanged. */
export function absoluteSpec(text: string, cwd: string): string {
  return /^\.{1,2}(?:\/|$)/.test(text) ? resolve(cwd, text) : text;
}

/**
 * Parses a spec; relative paths are rejected here.
 * @throws InstallFailure at `fetch`
 */
export function parseSpec(text: string, look: Look, home: string): InstallSpec {
  const spec = text.trim();
  if (spec.startsWith("git+file:")) return gitSpec(spec.slice("git+".length), home);
  if (isPath(spec)) return pathSpec(spec, look, home);
  if (/^[a-z+]+:/i.test(spec) || spec.includes("#"))
    throw new InstallFailure(
      "fetch",
      `"${spec}" is on another machine; only registry packages are installed from there`,
      "clone or download it, review it, then install it from this machine",
    );
  const at = spec.indexOf("@", 1);
  const name = at < 0 ? spec : spec.slice(0, at);
  const range = at < 0 ? undefined : spec.slice(at + 1);
  if (!isPackageName(name)) throw new InstallFailure("fetch", `"${spec}" is neither a package nor a path`, WAYS);
  if (range !== undefined && !RANGE.test(range))
    throw new InstallFailure("fetch", `"${range}" is not a version of ${name}`, WAYS);
  return { source: "npm", name, range };
}

function pathSpec(text: string, look: Look, home: string): InstallSpec {
  const path = pathOf(text, home);
  const found = look(path);
  if (found === "directory") return { source: "directory", path };
  if (found === "file" && /\.[cm]?[jt]s$/.test(path))
    throw new InstallFailure(
      "fetch",
      `${path} is a single file, but only packages can be installed`,
      `svc config set plugins.load.paths '["${path}"]' makes the gateway load it; use svc dev ${path} during development`,
    );
  if (found === "file") return { source: "archive", path };
  const hash = path.lastIndexOf("#");
  if (hash > 0 && look(path.slice(0, hash)) === "directory")
    return { source: "git", path: path.slice(0, hash), ref: checkedRef(path.slice(hash + 1)) };
  throw new InstallFailure("fetch", `there is no file or directory at ${path}`, WAYS);
}

function gitSpec(text: string, home: string): InstallSpec {
  const hash = text.lastIndexOf("#");
  const path = pathOf(hash < 0 ? text : text.slice(0, hash), home);
  return { source: "git", path, ref: hash < 0 ? undefined : checkedRef(text.slice(hash + 1)) };
}

function checkedRef(ref: string): string {
  if (REF.test(ref)) return ref;
  throw new InstallFailure("fetch", `"${ref}" is not a branch, tag or commit`, WAYS);
}

function pathOf(text: string, home: string): string {
  try {
    if (text.startsWith("file:")) return fileURLToPath(text.startsWith("file://") ? text : `file://${text.slice(5)}`);
  } catch {
    throw new InstallFailure("fetch", `"${text}" is not the address of a file on this machine`, WAYS);
  }
  if (text.startsWith("~/")) return join(home, text.slice(2));
  if (isAbsolute(text)) return resolve(text);
  throw new InstallFailure(
    "fetch",
    `"${text}" is a relative path, but there is no directory it could be relative to`,
    WAYS,
  );
}

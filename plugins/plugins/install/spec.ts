/** What somebody asked to install: a package of the registry, an archive, a directory or a git repository of this machine. */
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isPackageName } from "@svc/host/local";
import { InstallFailure } from "./failure.ts";

/** What was asked for. */
export type InstallSpec =
  | { readonly source: "npm"; readonly name: string; readonly range: string | undefined }
  | { readonly source: "archive" | "directory"; readonly path: string }
  | { readonly source: "git"; readonly path: string; readonly ref: string | undefined };

/** What lies at a path. */
export type Look = (path: string) => "file" | "directory" | undefined;

/** Version, range or tag. Anything with a colon or a slash would lead elsewhere. */
const RANGE = /^[\w.+~^<>=*| -]+$/;

/** Words a branch, tag or commit may consist of; never taken for an option. */
const REF = /^[A-Za-z0-9_][\w./+@-]*$/;

const WAYS =
  "svc plugins install <name>[@<version>], ./<file>.tgz, ./<directory>, or a git repository on this machine as git+file:///<path>[#<ref>]";

/** Whether it is written as a path: only these mean a file; a bare name always means the registry. */
function isPath(text: string): boolean {
  return /^(?:\.{1,2}(?:\/|$)|\/|~\/|file:)/.test(text) || isAbsolute(text);
}

/** Paths made absolute, as somebody means them who types them in `cwd`. Everything else stays. */
export function absoluteSpec(text: string, cwd: string): string {
  return /^\.{1,2}(?:\/|$)/.test(text) ? resolve(cwd, text) : text;
}

/**
 * Decides what is meant; relative paths mean nothing here.
 * @throws InstallFailure at `fetch`
 */
export function parseSpec(text: string, look: Look, home: string): InstallSpec {
  const spec = text.trim();
  if (spec.startsWith("git+file:")) return gitSpec(spec.slice("git+".length), home);
  if (isPath(spec)) return pathSpec(spec, look, home);
  if (/^[a-z+]+:/i.test(spec) || spec.includes("#"))
    throw new InstallFailure(
      "fetch",
      `"${spec}" lies on another machine, where only packages of the registry are taken from`,
      "clone or download it, look at it, then install it from this machine",
    );
  const at = spec.indexOf("@", 1);
  const name = at < 0 ? spec : spec.slice(0, at);
  const range = at < 0 ? undefined : spec.slice(at + 1);
  if (!isPackageName(name)) throw new InstallFailure("fetch", `"${spec}" is neither a package nor a path`, WAYS);
  if (range !== undefined && !RANGE.test(range))
    throw new InstallFailure("fetch", `"${range}" is no version of ${name}`, WAYS);
  return { source: "npm", name, range };
}

function pathSpec(text: string, look: Look, home: string): InstallSpec {
  const path = pathOf(text, home);
  const found = look(path);
  if (found === "directory") return { source: "directory", path };
  if (found === "file" && /\.[cm]?[jt]s$/.test(path))
    throw new InstallFailure(
      "fetch",
      `${path} is a single file, and only packages are installed`,
      `svc config set plugins.load.paths '["${path}"]' has the gateway load it; svc dev ${path} while you write it`,
    );
  if (found === "file") return { source: "archive", path };
  const hash = path.lastIndexOf("#");
  if (hash > 0 && look(path.slice(0, hash)) === "directory")
    return { source: "git", path: path.slice(0, hash), ref: checkedRef(path.slice(hash + 1)) };
  throw new InstallFailure("fetch", `there is nothing at ${path}`, WAYS);
}

function gitSpec(text: string, home: string): InstallSpec {
  const hash = text.lastIndexOf("#");
  const path = pathOf(hash < 0 ? text : text.slice(0, hash), home);
  return { source: "git", path, ref: hash < 0 ? undefined : checkedRef(text.slice(hash + 1)) };
}

function checkedRef(ref: string): string {
  if (REF.test(ref)) return ref;
  throw new InstallFailure("fetch", `"${ref}" is no branch, tag or commit`, WAYS);
}

function pathOf(text: string, home: string): string {
  try {
    if (text.startsWith("file:")) return fileURLToPath(text.startsWith("file://") ? text : `file://${text.slice(5)}`);
  } catch {
    throw new InstallFailure("fetch", `"${text}" is no address of a file of this machine`, WAYS);
  }
  if (text.startsWith("~/")) return join(home, text.slice(2));
  if (isAbsolute(text)) return resolve(text);
  throw new InstallFailure(
    "fetch",
    `"${text}" is a relative path, and nobody is here whose directory it could mean`,
    WAYS,
  );
}

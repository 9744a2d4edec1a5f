/** A plugin that can be installed and requests no special permission. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "tar";
import { consentOf } from "../../plugins/plugins/install/consent.ts";
import { filesOf } from "../plugin-package.ts";

export interface Installable {
  readonly id: string;
  /** Path of its archive, which exists until the process ends. */
  readonly path: string;
  readonly agree: string;
}

export function makeInstallable(): Installable {
  const id = "conformance-guest";
  const directory = mkdtempSync(join(tmpdir(), "svc-installable-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "package"));
  for (const [path, text] of Object.entries(filesOf({ name: id })))
    writeFileSync(join(directory, "package", path), text);
  const path = join(directory, `${id}.tgz`);
  create({ file: path, sync: true, gzip: true, portable: true, cwd: directory }, ["package"]);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
  return { id, path, agree: consentOf(id, integrity, ["rights all"]) };
}

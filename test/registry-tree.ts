/** Copies all dependencies of a package from this checkout into a test's registry: npm would need a second for each. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { create } from "tar";
import type { TestRegistry } from "./registry.ts";

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Direct and transitive dependencies, without the package in `directory` itself. */
export async function publishDependencies(registry: TestRegistry, directory: string): Promise<void> {
  const found = new Set<string>();
  collect(directory, found);
  const turns = new Map<string, Promise<void>>(); // versions of one package are added one at a time
  for (const place of found) {
    const { name } = readPackage(place);
    turns.set(
      name,
      (turns.get(name) ?? Promise.resolve()).then(() => put(registry, place)),
    );
  }
  await Promise.all(turns.values());
}

function collect(directory: string, found: Set<string>): void {
  for (const name of Object.keys(readPackage(directory).dependencies ?? {})) {
    const place = installed(name, directory);
    if (found.has(place)) continue;
    found.add(place);
    collect(place, found);
  }
}

/** The directory in which an import from `directory` finds the package. */
function installed(name: string, directory: string): string {
  const place = join(directory, "node_modules", name);
  if (existsSync(join(place, "package.json"))) return place;
  if (dirname(directory) === directory) throw new Error(`${name} is not installed`);
  return installed(name, dirname(directory));
}

function readPackage(directory: string): PackageFile {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageFile;
}

async function put({ url, env }: TestRegistry, directory: string): Promise<void> {
  const fields = readPackage(directory);
  const { name, version } = fields;
  const files = readdirSync(directory).filter((file) => file !== "node_modules");
  const packed = create({ cwd: directory, prefix: "package", portable: true, gzip: { level: 1 } }, files);
  const chunks: Buffer[] = [];
  for await (const chunk of packed as AsyncIterable<Buffer>) chunks.push(chunk);
  const tarball = Buffer.concat(chunks);
  const file = `${name}-${version}.tgz`;
  const dist = {
    integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
    shasum: createHash("sha1").update(tarball).digest("hex"),
    tarball: `${url}${name}/-/${file.split("/").at(-1)}`,
  };
  const body = {
    _id: name,
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...fields, _id: `${name}@${version}`, dist } },
    _attachments: {
      [file]: { content_type: "application/octet-stream", data: tarball.toString("base64"), length: tarball.length },
    },
  };
  const token = /_authToken=(\S+)/.exec(readFileSync(String(env["npm_config_userconfig"]), "utf8"))?.[1] ?? "";
  const answer = await fetch(`${url}${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
}

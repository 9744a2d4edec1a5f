/** Holds the shape of the house: who may import whom, no knots, no product noun in the host, the SDK's public surface. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { root } from "./checkout.ts";

interface SourceFile {
  /** Relative to the checkout. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function filesBelow(directory: string): string[] {
  return readdirSync(join(root, directory)).flatMap((name) => {
    const path = join(directory, name);
    if (name === "node_modules" || name === "dist" || name.startsWith(".")) return [];
    return statSync(join(root, path)).isDirectory() ? filesBelow(path) : path.endsWith(".ts") ? [path] : [];
  });
}

/** Static, type-only, re-exporting and dynamic imports alike. */
function importsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  return [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)["']([^"']+)["']/gm)].flatMap(([, name]) =>
    name ? [name] : [],
  );
}

const files: SourceFile[] = ["sdk", "host", "plugins", "examples"].flatMap(filesBelow).map((path) => {
  const text = readFileSync(join(root, path), "utf8");
  return { path, text, imports: importsOf(text) };
});

/** `host/net/door.ts` -> `host`; `plugins/x/y.ts` -> `plugins/x`. */
function roomOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === "plugins" || first === "examples" ? `${first}/${second}` : first;
}

/** The file or package an import means. */
function target(file: SourceFile, name: string): string {
  return name.startsWith(".") ? relative(root, resolve(root, dirname(file.path), name)) : name;
}

describe("who may import whom", () => {
  const allowed: [room: RegExp, may: (target: string) => boolean][] = [
    [/^sdk$/, (to) => roomOf(to) === "sdk" || !/^@svc\/|^(host|plugins|examples)\//.test(to)],
    [
      /^host$/,
      (to) => roomOf(to) === "host" || (!/^@svc\/(?!sdk)/.test(to) && !/^(sdk|plugins|examples|test)\//.test(to)),
    ],
    [/^plugins\/(?!dev$)/, (to) => !/^(sdk|host|examples|test)\//.test(to) && !/^@svc\/(?!sdk)/.test(to)],
    [/^plugins\/dev$/, (to) => !/^(sdk|host|examples|test)\//.test(to) && !/^@svc\/(?!sdk|host$)/.test(to)],
    [/^examples\//, (to) => !to.startsWith("test/")],
  ];
  for (const [room, may] of allowed) {
    it(`${room.source} keeps to its own rooms`, () => {
      const wrong = files
        .filter(({ path }) => room.test(roomOf(path)))
        .flatMap((file) => file.imports.map((name) => ({ file: file.path, to: target(file, name) })))
        .filter(
          ({ file, to }) =>
            !may(to) || (file.startsWith("plugins/") && to.startsWith("plugins/") && roomOf(to) !== roomOf(file)),
        );
      assert.deepEqual(wrong, []);
    });
  }

  it("rooms of the host look only where they may", () => {
    const may: Record<string, readonly string[]> = {
      hooks: [],
      config: [],
      logs: ["config"],
      auth: ["config"],
      kernel: ["hooks"],
      isolation: ["hooks", "kernel"],
      install: ["config", "kernel"],
      net: ["auth", "hooks", "kernel"],
      webhooks: ["auth", "config", "hooks", "kernel", "net"],
      cli: ["auth", "config", "install", "kernel", "logs", "webhooks"],
    };
    const wrong = files.flatMap((file) => {
      const room = /^host\/([a-z]+)\//.exec(file.path)?.[1];
      if (!room) return [];
      return file.imports
        .map((name) => target(file, name))
        .filter((to) => {
          const other = /^host\/([a-z]+)\//.exec(to)?.[1];
          return other !== undefined && other !== room && !may[room]?.includes(other);
        })
        .map((to) => `${file.path} -> ${to}`);
    });
    assert.deepEqual(wrong, []);
  });

  it("no plugin is imported by name in the host", () => {
    const wrong = files
      .filter(({ path, text }) => path.startsWith("host/") && /@svc\/plugin-[a-z]/.test(text))
      .map(({ path }) => path);
    assert.deepEqual(wrong, []);
  });

  it("a plugin imports only what its package declares", () => {
    const wrong = files.flatMap((file) => {
      const room = roomOf(file.path);
      if (!room.startsWith("plugins/")) return [];
      const { dependencies = {}, peerDependencies = {} } = JSON.parse(
        readFileSync(join(root, room, "package.json"), "utf8"),
      );
      return file.imports
        .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
        .map((name) => (name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : String(name.split("/")[0])))
        .filter((name) => !(name in dependencies) && !(name in peerDependencies))
        .map((name) => `${file.path}: ${name}`);
    });
    assert.deepEqual(wrong, []);
  });
});

it("no file is part of an import cycle, type imports included", () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: SourceFile, trail: readonly string[]) => {
    if (trail.includes(file.path))
      return void cycles.push([...trail.slice(trail.indexOf(file.path)), file.path].join(" -> "));
    if (done.has(file.path)) return;
    for (const name of file.imports) {
      const next = byPath.get(target(file, name));
      if (next) visit(next, [...trail, file.path]);
    }
    done.add(file.path);
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(cycles, []);
});

it("the host names no plugin, namespace or channel", () => {
  const manifests = readdirSync(join(root, "plugins")).flatMap((name) => {
    const { svc } = JSON.parse(readFileSync(join(root, "plugins", name, "package.json"), "utf8"));
    return svc ? [svc as { id: string; namespaces?: string[] }] : [];
  });
  assert.ok(manifests.length >= 9);
  // The configuration file and the mapping engine are the host's, and every HTTP reply has a status: these words are its own as well.
  // So are the nodes of a graph, and the secrets it hides; and every socket can send.
  // A process has memory, pages come from the web, npm has workspaces, files have a device number, and what is on offer are tools.
  // It logs, updates what is installed, and tells people the usage of a command.
  const ordinary = ["dev", "logs", "memory", "tools", "update", "usage", "web", "workspace"];
  const own = new Set(["config", "nodes", "plugins", "secrets", "send", "status", "webhooks", ...ordinary]);
  const channels = [
    "telegram",
    "whatsapp",
    "discord",
    "slack",
    "mattermost",
    "signal",
    "imessage",
    "msteams",
    "irc",
    "matrix",
  ];
  // `signal` is also Node's word for aborting.
  const nouns = [...manifests.flatMap(({ id, namespaces = [] }) => [id, ...namespaces]), ...channels].filter(
    (noun) => !own.has(noun) && noun !== "signal",
  );
  const words = [...new Set(nouns)].map((noun) => noun.replaceAll(".", "\\."));
  const pattern = new RegExp(`\\b(${words.join("|")})\\b`, "gi");
  const wrong = files
    .filter(({ path }) => path.startsWith("host/"))
    .flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([noun]) => `${path}: ${noun}`));
  assert.deepEqual(wrong, []);
});

/** Names a package entry exports, following `export *` of its own files. */
function exportsOf(path: string): { name: string; documented: boolean }[] {
  const text = readFileSync(join(root, path), "utf8");
  const starred = [...text.matchAll(/^export \* from "(\.[^"]+)";/gm)].flatMap(([, to]) =>
    exportsOf(join(dirname(path), String(to))),
  );
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]+)\}/gm)].flatMap(([, names]) =>
    String(names)
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter(Boolean)
      .map((name) => ({ name, documented: true })),
  );
  const lines = text.split("\n");
  const declared = lines.flatMap((line, index) => {
    const match = /^export (?:async )?(?:const|function|class|interface|type) (\w+)/.exec(line);
    if (!match) return [];
    const documented = lines[index - 1]?.trimEnd().endsWith("*/") ?? false;
    return [
      {
        name: String(match[1]),
        documented: documented || /^export type \w+ = (Static<|\(typeof|keyof typeof)/.test(line),
      },
    ];
  });
  return [...starred, ...listed, ...declared];
}

describe("the public surface of @svc/sdk", () => {
  const entries = {
    ".": "sdk/index.ts",
    "./services": "sdk/services/index.ts",
    "./client": "sdk/client/index.ts",
    "./errors": "sdk/errors.ts",
    "./device": "sdk/device/index.ts",
    "./exec": "sdk/exec/index.ts",
    "./files": "sdk/files/index.ts",
    "./cli": "sdk/cli.ts",
    "./testing": "sdk/testing/index.ts",
    "./transform": "sdk/transform.ts",
  };

  it("is what the snapshot says; a change of it is a change of the API", () => {
    const now = Object.entries(entries).map(([entry, path]) => [
      entry,
      [...new Set(exportsOf(path).map(({ name }) => name))].sort(),
    ]);
    if (process.env["SVC_UPDATE_SNAPSHOT"])
      writeFileSync(join(root, "test/sdk-exports.json"), `${JSON.stringify(Object.fromEntries(now), null, 2)}\n`);
    const snapshot = JSON.parse(readFileSync(join(root, "test/sdk-exports.json"), "utf8"));
    assert.deepEqual(Object.fromEntries(now), snapshot);
  });

  it("is documented, derived types aside", () => {
    const silent = Object.values(entries).flatMap((path) =>
      exportsOf(path)
        .filter(({ documented }) => !documented)
        .map(({ name }) => name),
    );
    assert.deepEqual(silent, []);
  });
});

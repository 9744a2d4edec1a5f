/** The structure of the tree: allowed imports, no import cycles, no product nouns in the host, the SDK's public surface. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { channelPlugins, root } from "./checkout.ts";
import { sourcesBelow } from "./source-reads.ts";

interface SourceFile {
  /** Relative to the checkout. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

/** Static, type-only, re-exporting and dynamic imports alike. */
function importsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  return [...code.matchAll(/(?:\bfrom\s+|\bimport\s*\(\s*|^\s*import\s+)["']([^"'$]+)["']/gm)].flatMap(([, name]) =>
    name ? [name] : [],
  );
}

const files: SourceFile[] = ["sdk", "host", "plugins", "examples"].flatMap(sourcesBelow).map((path) => {
  const text = readFileSync(join(root, path), "utf8");
  return { path, text, imports: importsOf(text) };
});

/** Packages inside the directory of another package. */
const NESTED = ["sdk/kit", "host/cli", "plugins/nodes/node-host"];

/** `host/net/listen.ts` -> `host`; `plugins/x/y.ts` -> `plugins/x`; `sdk/kit/exec/plan.ts` -> `sdk/kit`. */
function roomOf(path: string): string {
  const nested = NESTED.find((directory) => path.startsWith(`${directory}/`));
  if (nested !== undefined) return nested;
  const [first = "", second = ""] = path.split("/");
  return first === "plugins" || first === "examples" ? `${first}/${second}` : first;
}

/** Code for browsers: a page of a plugin. */
function isOfPage(path: string): boolean {
  return /^plugins\/[^/]+\/ui\//.test(path);
}

/** The file or package that an import refers to. */
function target(file: SourceFile, name: string): string {
  return name.startsWith(".") ? relative(root, resolve(root, dirname(file.path), name)) : name;
}

describe("imports", () => {
  const allowed: [room: RegExp, may: (target: string) => boolean][] = [
    [/^sdk$/, (to) => roomOf(to) === "sdk" || !/^@svc\/|^(sdk|host|plugins|examples)\//.test(to)],
    [
      /^sdk\/kit$/,
      (to) =>
        roomOf(to) === "sdk/kit" || (!/^@svc\/(?!sdk)/.test(to) && !/^(sdk|host|plugins|examples|test)\//.test(to)),
    ],
    [
      /^host$/,
      (to) => roomOf(to) === "host" || (!/^@svc\/(?!sdk)/.test(to) && !/^(sdk|host|plugins|examples|test)\//.test(to)),
    ],
    [
      /^host\/cli$/,
      (to) =>
        roomOf(to) === "host/cli" || !/^@svc\/(?!(?:sdk|host)(?:\/|$))|^(sdk|host|plugins|examples|test)\//.test(to),
    ],
    [
      /^plugins\/(?!(?:dev|plugins)$)/,
      (to) => !/^(sdk|host|examples|test)\//.test(to) && !/^@svc\/(?!sdk|kit|node-host$)/.test(to),
    ],
    [
      /^plugins\/(?:dev|plugins)$/,
      (to) =>
        !/^(sdk|host|examples|test)\//.test(to) && !/^@svc\/(?!sdk|kit|host(?:\/(?:local|state))?$|cli$)/.test(to),
    ],
    [/^examples\//, (to) => !to.startsWith("test/")],
  ];
  for (const [room, may] of allowed) {
    it(`of ${room.source} stay within the allowed packages`, () => {
      const wrong = files
        .filter(({ path }) => room.test(roomOf(path)) && !path.includes("/templates/")) // templates become packages of their own
        .flatMap((file) => file.imports.map((name) => ({ file: file.path, to: target(file, name) })))
        .filter(
          ({ file, to }) =>
            !may(to) || (file.startsWith("plugins/") && to.startsWith("plugins/") && roomOf(to) !== roomOf(file)),
        );
      assert.deepEqual(wrong, []);
    });
  }

  it("of a directory of the host refer only to the listed directories", () => {
    const may: Record<string, readonly string[]> = {
      hooks: [],
      config: [],
      logs: ["config"],
      auth: ["config"],
      kernel: ["hooks"],
      carriers: ["hooks", "kernel"],
      installed: ["config", "kernel"],
      net: ["auth", "hooks", "kernel"],
      webhooks: ["auth", "config", "hooks", "kernel", "net"],
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

  it("of a directory of cron refer only to the directories listed before it", () => {
    const order: Record<string, readonly string[]> = {
      "plugins/cron": ["schedule", "store", "runs", "jobs"],
    };
    const wrong = files.flatMap((file) => {
      const plugin = roomOf(file.path);
      const rooms = order[plugin] ?? [];
      const rank = (path: string) => rooms.indexOf(path.slice(plugin.length + 1).split("/", 1)[0] ?? "");
      return file.imports
        .map((name) => target(file, name))
        .filter((to) => rank(file.path) >= 0 && to.startsWith(`${plugin}/`) && rank(to) > rank(file.path))
        .map((to) => `${file.path} -> ${to}`);
    });
    assert.deepEqual(wrong, []);
  });

  it("of the host name no plugin", () => {
    const wrong = files
      .filter(({ path, text }) => path.startsWith("host/") && /@svc\/plugin-[a-z]/.test(text))
      .map(({ path }) => path);
    assert.deepEqual(wrong, []);
  });

  it("of a plugin are declared by its package", () => {
    const wrong = files.flatMap((file) => {
      const room = roomOf(file.path);
      if (!room.startsWith("plugins/")) return [];
      const { devDependencies, peerDependencies, ...others } = JSON.parse(
        readFileSync(join(root, room, "package.json"), "utf8"),
      );
      const dependencies = isOfPage(file.path) ? devDependencies : (others.dependencies ?? {}); // a page is built with its libraries inside
      return file.imports
        .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
        .map((name) => (name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : String(name.split("/")[0])))
        .filter((name) => !(name in dependencies) && !(name in (peerDependencies ?? {})))
        .map((name) => `${file.path}: ${name}`);
    });
    assert.deepEqual(wrong, []);
  });
});

it("a plugin depends on the peers of its libraries: the installer leaves out peers", () => {
  interface Locked {
    readonly resolved?: string;
    readonly link?: boolean;
    readonly dependencies?: Readonly<Record<string, string>>;
    readonly peerDependencies?: Readonly<Record<string, string>>;
    readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  }
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  /** The place of a package, as Node finds it from another one. */
  function placeOf(name: string, from: string): string | undefined {
    const place = join(from, "node_modules", name);
    const found = packages[place];
    if (found) return found.link ? found.resolved : place;
    return from === "." ? undefined : placeOf(name, dirname(from));
  }
  const missing = readdirSync(join(root, "plugins")).flatMap((plugin) => {
    const installed = new Set<string>();
    const peers: [name: string, of: string][] = [];
    const visit = (from: string) => {
      const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta: more = {} } = packages[from] ?? {};
      for (const name of Object.keys(peerDependencies)) if (!more[name]?.optional) peers.push([name, from]);
      for (const name of Object.keys(dependencies)) {
        const place = placeOf(name, from);
        if (place === undefined || installed.has(name)) continue;
        installed.add(name);
        visit(place);
      }
    };
    visit(`plugins/${plugin}`);
    return peers
      .filter(([name]) => !name.startsWith("@svc/") && !installed.has(name))
      .map(([name, of]) => `plugins/${plugin}: ${of} needs ${name}`);
  });
  assert.deepEqual(missing, []);
});

/** @returns a line per cycle, e.g. `a -> b -> a` */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (node: string, trail: readonly string[]) => {
    if (trail.includes(node)) return void cycles.push([...trail.slice(trail.indexOf(node)), node].join(" -> "));
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}

it("no file is part of an import cycle, type imports included", () => {
  const graph = files.map((file) => [file.path, file.imports.map((name) => target(file, name))] as const);
  assert.deepEqual(cyclesOf(new Map(graph)), []);
});

it("a domain of the SDK imports only the listed domains, without cycles; type imports included", () => {
  const may: Record<string, readonly string[]> = {
    agents: ["heartbeat", "memory", "models", "tools"],
    channels: ["heartbeat", "tools"],
    client: ["protocol"],
    chat: ["commands", "models", "sessions"],
    commands: ["tools"],
    config: ["gateway"],
    device: ["client"],
    gateway: ["approvals"],
    heartbeat: ["storage"],
    import: ["cron"],
    media: ["models"],
    memory: ["secrets"],
    models: ["usage"],
    sessions: ["models", "storage"],
    testing: ["channels", "client", "models", "tools"],
    tools: ["models"],
    update: ["gateway"],
    webhooks: ["storage"],
  };
  const domainOf = (path: string) => /^sdk\/(?!kit\/|dist\/)([a-z-]+)\//.exec(path)?.[1];
  const found: Record<string, string[]> = {};
  for (const file of files) {
    const domain = domainOf(file.path);
    if (domain === undefined) continue;
    const others = file.imports.map((name) => domainOf(target(file, name))).filter((to) => to !== undefined);
    for (const other of others) if (other !== domain) (found[domain] ??= []).push(other);
  }
  const exact = Object.entries(found).map(([domain, others]) => [domain, [...new Set(others)].toSorted()]);
  assert.deepEqual(Object.fromEntries(exact), may);
  assert.deepEqual(cyclesOf(new Map(Object.entries(may))), []);
});

it("directories of a plugin import each other in one direction", () => {
  const roomIn = (path: string) => /^plugins\/[^/]+\/[^/]+(?=\/)/.exec(path)?.[0];
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const room = roomIn(file.path);
    if (room === undefined) continue;
    const others = file.imports.flatMap((name) => roomIn(target(file, name)) ?? []).filter((other) => other !== room);
    graph.set(room, [...(graph.get(room) ?? []), ...others]);
  }
  assert.deepEqual(cyclesOf(graph), []);
});

it("the host names no plugin, namespace or channel", () => {
  const manifests = readdirSync(join(root, "plugins")).flatMap((name) => {
    const { svc } = JSON.parse(readFileSync(join(root, "plugins", name, "package.json"), "utf8"));
    return svc ? [svc as { id: string; namespaces?: string[] }] : [];
  });
  assert.ok(manifests.length >= 9);
  // Words that the host needs itself: its configuration and mapping engine, the status of an HTTP reply, nodes of a graph, hidden secrets,
  // sends of a socket; and, below, ordinary ones such as process memory, npm workspaces, plugins that wake, files on disk, items that a list
  // gets, commands and their usage, and the control panel as a kind of client.
  const ordinary = [
    "browser",
    "commands",
    "dev",
    "files",
    "gateways",
    "health",
    "import",
    "logs",
    "memory",
    "panel",
    "push",
    "storage",
    "tools",
    "update",
    "usage",
    "wake",
    "web",
    "workspace",
  ];
  const own = new Set(["config", "nodes", "plugins", "secrets", "send", "status", "webhooks", ...ordinary]);
  const channels = channelPlugins().flatMap(({ channels: ids }) => ids);
  // `signal` is also Node's word for aborting.
  const named = manifests.flatMap(({ id, namespaces = [] }) => [id, ...namespaces]).filter((noun) => !own.has(noun));
  const singulars = named.flatMap((noun) => (/[^s]s$/.test(noun) ? [noun.slice(0, -1)] : []));
  // The host knows devices by their proofs.
  const nouns = [...named, ...singulars, ...channels].filter((noun) => noun !== "signal" && noun !== "device");
  const pattern = new RegExp(
    `\\b(${[...new Set(nouns)].map((noun) => noun.replaceAll(".", "\\.")).join("|")})\\b`,
    "gi",
  );
  const excused: Readonly<Record<string, readonly string[]>> = {
    // The operator's policy for webhook senders is in the host's section.
    "host/config/hooks-schema.ts": ["model", "session"],
    "host/hooks/questions.ts": ["approval"], // the answer of the service Approver
    // Node's channel to a child process; the sessions of systemd.
    "host/carriers/carriers.ts": ["channel"],
    "host/cli/renewal.ts": ["channel"],
    "host/cli/service/service.ts": ["session"],
    "host/cli/service/supervisor.ts": ["session"],
  };
  const wrong = files
    // Data: names keys of plugins' sections, and why they have no effect.
    .filter(({ path }) => path.startsWith("host/") && path !== "host/config/foreign-keys.ts")
    .flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([noun]) => ({ path, noun })))
    .filter(({ path, noun }) => !excused[path]?.includes(noun.toLowerCase()))
    .map(({ path, noun }) => `${path}: ${noun}`);
  assert.deepEqual(wrong, []);
});

it("the mapping engine has no word for the fields of an action", () => {
  const nouns = /\b(sessionKey|agentId|model|thinking|channel)\b/g;
  // The operator's policy refuses senders by the names of the wire format, and a trial shows the session.
  const own: Readonly<Record<string, readonly string[]>> = {
    "policy.ts": ["sessionKey", "agentId"],
    "trial.ts": ["sessionKey"],
  };
  const wrong = files
    .filter(({ path }) => path.startsWith("host/webhooks/"))
    .flatMap(({ path, text }) => [...text.matchAll(nouns)].map(([noun]) => ({ path, noun })))
    .filter(({ path, noun }) => !own[path.replace("host/webhooks/", "")]?.includes(noun))
    .map(({ path, noun }) => `${path}: ${noun}`);
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
        documented: documented || /^export type \w+ = (Static<|DeepReadonly<Static<|\(typeof|keyof typeof)/.test(line),
      },
    ];
  });
  return [...starred, ...listed, ...declared];
}

/** The files that are evaluated when this one is imported; dynamic imports are left out. */
function evaluatedBy(entry: string): string[] {
  const evaluated = new Set<string>();
  const visit = (path: string) => {
    if (evaluated.has(path)) return;
    evaluated.add(path);
    const text = readFileSync(join(root, path), "utf8");
    for (const [, name] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)";/gm))
      visit(join(dirname(path), String(name)));
  };
  visit(entry);
  return [...evaluated];
}

it("what commands import of the host loads no gateway", () => {
  const evaluated = ["host/local.ts", "host/state.ts", "host/cli/index.ts", "host/cli/main.ts"].flatMap(evaluatedBy);
  assert.ok(evaluated.includes("host/kernel/load.ts"));
  const gateway = /^host\/(?:gateway|log|running-gateway|kernel\/kernel)\.ts|^host\/(?:net|webhooks|kernel\/kinds)\//;
  assert.deepEqual(
    evaluated.filter((path) => gateway.test(path)),
    [],
  );
  const commands = files.filter(
    ({ path, text }) =>
      path.startsWith("host/cli/") && /^(?:import|export) (?!type )[^;]*?from "@svc\/host";/m.test(text),
  );
  assert.deepEqual(
    commands.map(({ path }) => path),
    [],
  );
});

it("no code names a channel outside of its folder, so a further channel changes no other file", () => {
  const listed = channelPlugins();
  assert.ok(listed.length >= 4);
  // `signal` is also Node's word for aborting.
  const ids = listed.flatMap(({ plugin, channels }) => channels.map((id) => ({ plugin, id })));
  const named = files.flatMap(({ path, text }) =>
    ids
      .filter(({ plugin, id }) => id !== "signal" && !path.startsWith(`plugins/${plugin}/`) && text.includes(`"${id}"`))
      .map(({ id }) => `${path}: ${id}`),
  );
  assert.deepEqual(named, [
    "plugins/cron/jobs/checks.ts: telegram", // the notation of topics, from the specification
    "plugins/webhook-signatures/slack.ts: slack", // its signature, for webhooks
  ]);
});

describe("the public surface of @svc/sdk", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8")) as { exports: object };
  const entries = Object.fromEntries(
    Object.keys(exports)
      .filter((entry) => entry !== "./package.json")
      .map((entry) => {
        const file = join("sdk", `${entry}.ts`);
        return [entry, files.some(({ path }) => path === file) ? file : join("sdk", entry, "index.ts")];
      }),
  );

  it("equals the snapshot: a change to it changes the API", () => {
    const now = Object.entries(entries).map(([entry, path]) => [
      entry,
      [...new Set(exportsOf(path).map(({ name }) => name))].sort(),
    ]);
    if (process.env["SVC_UPDATE_SNAPSHOT"])
      writeFileSync(join(root, "test/sdk-exports.json"), `${JSON.stringify(Object.fromEntries(now), null, 2)}\n`);
    const snapshot = JSON.parse(readFileSync(join(root, "test/sdk-exports.json"), "utf8"));
    assert.deepEqual(Object.fromEntries(now), snapshot);
  });

  it("evaluates only the hooks of a domain", () => {
    const evaluated = evaluatedBy("sdk/index.ts");
    assert.ok(evaluated.includes("sdk/agents/hooks.ts"));
    const wrong = evaluated.filter((path) => /^sdk\/[a-z-]+\//.test(path) && !path.endsWith("/hooks.ts"));
    assert.deepEqual(wrong, []);
  });

  it("is documented, except for derived types", () => {
    const silent = Object.values(entries).flatMap((path) =>
      exportsOf(path)
        .filter(({ documented }) => !documented)
        .map(({ name }) => name),
    );
    assert.deepEqual(silent, []);
  });
});

it("no code distinguishes errors by their message: `code`, `details.code` and close codes exist for that", () => {
  const text = String.raw`(?:\bmessage|\bmessageOf\([^()]*\)|String\((?:\w+\??\.)*message\)|\bclose(?:d\.r|\.r|R)eason)`;
  const patterns = [
    String.raw`${text}\??\.(?:includes|startsWith|endsWith|match|matchAll|search|indexOf)\(`,
    String.raw`\.(?:test|exec)\((?:\w+\??\.)*(?:String\((?:\w+\??\.)*)?${text}`,
    String.raw`\w\.message [!=]== (?!undefined|null)`,
  ];
  const match = new RegExp(patterns.join("|"));
  const excused = new Map([
    // A third party reports it only in its message.
    ["plugins/agents/history/compaction-plan.ts", "model servers; and a command in a message of a person"],
    ["plugins/dev/run/place.ts", "Node names the module that is missing"],
    ["plugins/mcp/session.ts", "the MCP library"],
    ["plugins/memory/index/database.ts", "SQLite's driver"],
    ["plugins/provider-anthropic/failure.ts", "the provider's API"],
    ["plugins/provider-openai/failure.ts", "the provider's library"],
    ["plugins/signal/refusals.ts", "the Signal daemon"],
    ["plugins/storage-sqlite/failures.ts", "SQLite's driver"],
    // The message is displayed, not interpreted.
    ["host/cli/config/issues.ts", "an issue of the configuration is a path and a sentence"],
    ["sdk/next-step.ts", "whether a message names its next step"],
    ["sdk/testing/contracts/provider.ts", "no secret in it"],
    // Not an error, but text that a person wrote.
    ["plugins/chat/input.ts", "a character that is refused"],
    ["plugins/commands/parse.ts", "a command"],
  ]);
  const found = new Set(files.filter((file) => match.test(file.text)).map(({ path }) => path));
  assert.deepEqual([...found].sort(), [...excused.keys()].sort());
});

it("signals are joined with AnySignal: AbortSignal.any leaves an entry on each source for as long as that lives", () => {
  const wrong = files
    .filter(({ path, text }) => !isOfPage(path) && /AbortSignal\.any\(/.test(text))
    .map(({ path }) => path);
  assert.deepEqual(wrong, []);
});

it("code of a gateway that is imported on first use goes through lazy(), which tries again after a failure", () => {
  const excused = new Map([
    ["host/kernel/load.ts", "the code of plugins, under a name of its own at each attempt"],
    ["host/kernel/sdk-modules.ts", "modules that are loaded already"],
    ["plugins/webhooks/transforms/load.ts", "modules that are loaded already"],
    ["host/net/http/handler.ts", "within lazy(() => createApplication())"],
    ["plugins/mcp/session.ts", "within lazy(importLibrary)"],
    ["host/local.ts", "for commands"],
    ["host/net/listen.ts", "a module of the runtime"],
    ["plugins/storage-sqlite/doctor.ts", "for commands"],
    ["plugins/media/documents/worker.ts", "in the process of one document"],
    ["plugins/media/documents/draw.ts", "in the process of one document"],
  ]);
  const ofGateway = /^(?:host\/(?!cli\/)|plugins\/(?!dev\/|full\/|[^/]+\/cli[./-]|nodes\/node-host\/)|sdk\/kit\/)/;
  const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
  const found = files
    .filter(({ path }) => ofGateway.test(path) && !isOfPage(path))
    .filter(({ text }) =>
      code(text)
        .replace(/lazy\([^;]*;/g, "")
        .replace(/typeof import\(/g, "")
        .match(/[^:\w.]import\(/),
    )
    .map(({ path }) => path);
  assert.deepEqual(found.sort(), [...excused.keys()].sort());
});

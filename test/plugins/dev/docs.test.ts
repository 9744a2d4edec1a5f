/** `svc docs`: the reference that needs no gateway. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isKeyOf } from "../../../plugins/dev/docs/machine-pages.ts";
import { ENVIRONMENT, LOG_FIELDS } from "../../../plugins/dev/docs/names.ts";
import { DOMAINS } from "../../../plugins/dev/docs/sdk-pages.ts";
import { root } from "../../checkout.ts";
import { home } from "../../host/cli/svc.ts";

/** Entry points of the SDK that declare no methods, events or services. */
const OTHERS = ["cli", "client", "device", "errors", "external-content", "files", "testing", "transform"];

interface Answer {
  readonly pages: readonly { readonly topic: string; readonly name: string; readonly summary: string }[];
  readonly others: readonly { readonly topic: string; readonly name: string }[];
}

it("looks into every domain of the SDK", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).flatMap((key) => /^\.\/([\w-]+)$/.exec(key)?.[1] ?? []);
  assert.deepEqual([...DOMAINS, ...OTHERS].sort(), entries.sort());
});

describe("svc docs", () => {
  it("names its topics", async (t) => {
    const { code, stdout } = await home(t).svc(["docs"]);
    assert.equal(code, 0);
    assert.match(stdout, /^Topics: methods, events, hooks, services, extension-points, errors, config, environment, /m);
  });

  it("shows a method with its scope, each param and its result", async (t) => {
    const { stdout } = await home(t).svc(["docs", "methods", "cron.remove"]);
    const lines = stdout.split("\n");
    assert.deepEqual(lines[0], "[methods]");
    assert.match(lines[1] ?? "", /^cron\.remove: \S/);
    assert.ok(lines.includes("scope: operator.admin"));
    assert.match(stdout, /^params:\n(?: {2}.*\n)* {2}id\?: string/m);
    assert.match(stdout, /^result:\n {2}ok: /m);
  });

  it("finds a name in every topic", async (t) => {
    const { svc } = home(t);
    const rows: [word: string, topic: string][] = [
      ["health", "methods"],
      ["cron", "events"],
      ["tick", "events"],
      ["cron", "plugins"],
      ["toolBefore", "hooks"],
      ["storage", "services"],
      ["tool", "extension-points"],
      ["TOO_MANY_CALLS", "errors"],
      ["UNAVAILABLE", "errors"],
      ["gateway.port", "config"],
      ["models.providers.acme.baseUrl", "config"],
      ["tools.allow[0]", "config"],
      ["SVC_STATE_DIR", "environment"],
      ["sessions_list", "contributions"],
      ["gateway run", "commands"],
      ["blockedMs", "log-fields"],
    ];
    for (const [word, topic] of rows) {
      const { pages } = JSON.parse((await svc(["docs", ...word.split(" "), "--json"])).stdout) as Answer;
      const page = pages.find((one) => one.topic === topic);
      assert.ok(page, `${word} in ${topic}`);
      assert.notEqual(page.summary.trim(), "");
    }
  });

  it("lists the names that contain a word, else the summaries", async (t) => {
    const { svc } = home(t);
    const named = JSON.parse((await svc(["docs", "SIGNATURE", "--json"])).stdout) as Answer;
    assert.deepEqual(named.pages, []);
    assert.ok(named.others.some(({ topic, name }) => topic === "plugins" && name === "webhook-signatures"));
  });

  it("refuses a name that nothing has, with the nearest one", async (t) => {
    const { code, stderr } = await home(t).svc(["docs", "cron.ad"].concat("dx"));
    assert.deepEqual([code, /no topic has an entry named "cron\.ad dx"\nNext: /.test(stderr)], [1, true]);
    assert.match((await home(t).svc(["docs", "sesions.list"])).stderr, /Next: svc docs sessions\.list/);
  });

  it("says of every configuration key what it means, and of no single value that it is a group", () => {
    const rows = readFileSync(join(root, "sdk/reference/config.md"), "utf8").split("\n").slice(6);
    const bare = rows.filter((row) => row.includes("| A group of keys. |") && !row.includes("| object |"));
    assert.deepEqual(bare, []);
  });

  it("fits a written key to the page of its pattern", () => {
    const rows: [page: string, written: string, fits: boolean][] = [
      ["hooks.mappings[].match.path", "hooks.mappings[3].match.path", true],
      ["hooks.mappings[].match.path", "hooks.mappings.0.match.path", true],
      ["session.identityLinks.<name>", "session.identityLinks.ann", true],
      ["session.identityLinks.<name>", "session.identityLinks", false],
      ["gateway.port", "gateway.ports", false],
    ];
    for (const [page, written, fits] of rows) assert.equal(isKeyOf(page, written), fits, written);
  });
});

describe("the names that no contract declares", () => {
  const sources = ["sdk", "host", "plugins"].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/(?:^|\/)(?:node_modules|dist|templates)\//.test(name))
      .filter((name) => !name.startsWith("dev/docs/"))
      .map((name) => readFileSync(join(root, top, name), "utf8")),
  );
  const found = (pattern: RegExp) =>
    [
      ...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, one, other]) => one ?? other ?? ""))),
    ].sort();

  it("are the environment variables that the product reads", () => {
    const read = found(/\benv\["([A-Z][A-Z_]+)"\]|"(SVC_[A-Z0-9_]+)"/g);
    assert.deepEqual(read, Object.keys(ENVIRONMENT).sort());
  });

  it("are the fields of the log lines", () => {
    const calls = found(/\blog\.(?:debug|info|warn|error)\(\s*\{([^{}]*)\}/g);
    const flat = (body: string): string => {
      const less = body.replace(/\([^()]*\)|\[[^\][]*\]/g, "");
      return less === body ? body : flat(less);
    };
    const fields = calls.flatMap((body) => flat(body).split(",")).flatMap((part) => /^\s*(\w+)/.exec(part)?.[1] ?? []);
    assert.deepEqual([...new Set(fields)].sort(), Object.keys(LOG_FIELDS).sort());
  });
});

/** `svc docs`: the reference that needs no gateway. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DOMAINS } from "../../../plugins/dev/docs/docs.ts";
import { root } from "../../checkout.ts";
import { home } from "../../host/cli/svc.ts";

/** Entry points of the SDK that declare no methods, events or services. */
const OTHERS = ["cli", "client", "device", "errors", "external-content", "files", "protocol", "testing", "transform"];

interface Listed {
  readonly name: string;
  readonly summary: string;
}

it("looks into every domain of the SDK", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).flatMap((key) => /^\.\/([\w-]+)$/.exec(key)?.[1] ?? []);
  assert.deepEqual([...DOMAINS, ...OTHERS].sort(), entries.sort());
});

describe("svc docs", () => {
  it("names its topics, and where the rest is found", async (t) => {
    const { code, stdout } = await home(t).svc(["docs"]);
    assert.equal(code, 0);
    assert.match(stdout, /^svc docs methods \| events \| services \| hooks \| errors \[name\]\n/);
    assert.match(stdout, /svc config schema/);
  });

  it("shows a method with its scope, each param and what it answers", async (t) => {
    const { stdout } = await home(t).svc(["docs", "methods", "cron.remove"]);
    const lines = stdout.split("\n");
    assert.match(lines[0] ?? "", /^cron\.remove: \S/);
    assert.ok(lines.includes("scope: operator.admin"));
    assert.match(stdout, /^params:\n(?: {2}.*\n)* {2}id\?: string/m);
    assert.match(stdout, /^result:\n {2}ok: /m);
  });

  const known: [topic: string, name: string, says: RegExp][] = [
    ["methods", "health", /gateway/],
    ["events", "cron", /job/],
    ["services", "storage", /^service \d/],
    ["hooks", "toolBefore", /tool/],
    ["errors", "TOO_MANY_CALLS", /connection/],
  ];
  for (const [topic, name, says] of known) {
    it(`lists ${topic}, each with what it is, and has a page for each`, async (t) => {
      const { svc } = home(t);
      const list = JSON.parse((await svc(["docs", topic, "--json"])).stdout) as Listed[];
      assert.ok(list.every(({ summary }) => summary.trim() !== ""));
      assert.match(list.find((entry) => entry.name === name)?.summary ?? "", says);
      const page = JSON.parse((await svc(["docs", topic, name, "--json"])).stdout) as Listed & { facts: object };
      assert.equal(page.name, name);
    });
  }

  it("says which topic or name was meant", async (t) => {
    const { svc } = home(t);
    const topic = await svc(["docs", "verbs"]);
    assert.deepEqual([topic.code, /topics are methods, events/.test(topic.stderr)], [1, true]);
    const name = await svc(["docs", "methods", "cron.ad"]);
    assert.deepEqual(
      [name.code, /methods has no "cron\.ad"\nNext: did you mean cron\.add\?/.test(name.stderr)],
      [1, true],
    );
  });
});

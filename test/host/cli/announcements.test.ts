// long: starts whole programs
/** Lines that commands of plugins add to the text of `svc gateway run`. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { put } from "../../directory.ts";
import { until } from "../../until.ts";
import { type Home, home } from "./svc.ts";

interface Announcer {
  /** The statement after `async announce(context)`. */
  readonly announce: string;
  /** Default: listed in package.json. */
  readonly announces?: boolean;
  readonly entry?: string;
}

const ENTRY = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "ID", api: "^1.0.0", setup() {} });`;

/** Writes a plugin whose command announces. */
function write({ configPath }: Home, id: string, { announce, announces = true, entry = ENTRY }: Announcer): void {
  const commands = [{ name: id, summary: "Greet somebody", announces }];
  const svc = { id, api: "^1.0.0", entry: "./plugin.ts", cli: "./cli.ts", commands };
  const at = join(dirname(configPath), id);
  put(join(at, "package.json"), JSON.stringify({ name: id, version: "1.0.0", type: "module", svc }));
  put(join(at, "plugin.ts"), entry.replace("ID", id));
  put(
    join(at, "cli.ts"),
    `import { defineCommands } from "@svc/sdk/cli";
export default defineCommands([
  { name: "${id}", summary: "Greet somebody", async run() {}, async announce(context) { ${announce} } },
]);`,
  );
}

/** Starts a gateway with these plugins. @returns the text of its start, and its notes */
async function startText(here: Home, words: readonly string[] = []) {
  const started = here.svc(["gateway", "run", "--port", "0", ...words]);
  await until(async () => (await here.svc(["gateway", "call", "health"])).code === 0);
  await until(async () => (await here.svc(["gateway", "stop"])).code === 0);
  const { stdout, stderr } = await started;
  return { lines: stdout.split("\n"), stdout, stderr };
}

describe("a command that announces", { timeout: 180_000 }, () => {
  it("adds lines below the addresses: from the redacted configuration, as this machine", async (t) => {
    const gateway = { auth: { token: "a-token-that-nobody-may-see" } };
    const here = home(t, { plugins: { use: ["health", "config", "./greet"] }, gateway });
    const announce = `
      const client = await context.connect(["operator.read"]);
      const { scopes } = client.hello.auth ?? {};
      const { methods } = client.hello.features;
      await client.close();
      return ["greet      " + context.url, JSON.stringify({ scopes, isTerminal: context.isTerminal === true, hasConfig: methods.includes("config.get") }), JSON.stringify(context.config.gateway.auth)];`;
    write(here, "greet", { announce });
    const { lines } = await startText(here);
    const at = lines.findIndex((line) => line.startsWith("  HTTP "));
    const [, url] = /^ {2}HTTP {7}(\S+)$/.exec(String(lines[at])) ?? [];
    assert.equal(lines[at + 1], `  greet      ${url}`);
    assert.deepEqual(JSON.parse(String(lines[at + 2])), {
      scopes: ["operator.read"],
      isTerminal: false,
      hasConfig: true,
    });
    assert.ok(!lines.join("\n").includes("a-token-that-nobody-may-see"));
    assert.match(String(lines[at + 3]), /"token"/);
  });

  it("is not asked if its plugin is not active, if package.json does not list it so, or for JSON", async (t) => {
    const here = home(t, { plugins: { use: ["health", "./broken", "./unlisted"] } });
    const announce = 'return ["never"];';
    write(here, "broken", { announce, entry: 'throw new Error("broken");' });
    write(here, "unlisted", { announce, announces: false });
    assert.ok(!(await startText(here)).lines.includes("  never"));
    const { stdout } = await startText(home(t, { plugins: { use: ["health"] } }), ["--json"]);
    assert.ok((JSON.parse(stdout) as { ready: boolean }).ready);
  });

  it("prevents nothing: a failure, silence and too many lines stay without effect on the others", async (t) => {
    const use = ["health", "./failing", "./silent", "./long", "./nothing"];
    const here = home(t, { plugins: { use } });
    write(here, "failing", { announce: 'throw new Error("out of order");' });
    write(here, "silent", { announce: "await new Promise(() => setInterval(() => {}, 1_000).unref());" });
    write(here, "long", { announce: 'return Array.from({ length: 20 }, (_, index) => "line " + index + "\\u0007");' });
    write(here, "nothing", { announce: "" });
    const { lines, stderr } = await startText(here, ["--log-level", "debug"]);
    const added = lines.filter((line) => line.startsWith("  line "));
    assert.equal(added.length, 8);
    assert.ok(!added.join("").includes("\u0007"), "control characters are escaped");
    assert.ok(lines.includes("Stop with Ctrl-C."));
    assert.match(stderr, /svc failing adds no lines: out of order/);
    assert.match(stderr, /svc silent adds no lines: no answer within 2000 ms/);
  });
});

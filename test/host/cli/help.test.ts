// long: starts whole programs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { home } from "./svc.ts";

/** A plugin package in TypeScript that adds a verb. */
function installVerb(configDir: string, name = "greet"): void {
  const directory = join(configDir, "greeter");
  mkdirSync(directory, { recursive: true });
  const commands = [{ name, summary: "Greet somebody" }];
  const svc = { id: "greeter", api: "^1.0.0", entry: "./plugin.ts", cli: "./cli.ts", commands };
  const json = { name: "greeter", version: "1.0.0", type: "module", svc };
  writeFileSync(join(directory, "package.json"), JSON.stringify(json));
  writeFileSync(join(directory, "plugin.ts"), 'throw new Error("a command loads no plugin");');
  writeFileSync(
    join(directory, "cli.ts"),
    `import { defineCommands } from "@svc/sdk/cli";
export default defineCommands([
  { name: "${name}", summary: "Greet somebody", args: "<name>", async run({ args, print }) { print("Hello, " + args[0]); } },
]);`,
  );
}

it("a configured plugin adds its verbs without being run", async (t) => {
  const { svc, configPath } = home(t, { plugins: { load: { paths: ["./greeter"] } } });
  installVerb(dirname(configPath));
  assert.match((await svc(["--help"])).stdout, /^ {2}greet .*Greet somebody/m);
  assert.deepEqual(await svc(["greet", "Ada"]), { code: 0, stdout: "Hello, Ada\n", stderr: "" });
});

it("a plugin may add a verb whose name begins like a built-in one", async (t) => {
  const { svc, configPath } = home(t, { plugins: { load: { paths: ["./greeter"] } } });
  installVerb(dirname(configPath), "config get-greeting");
  assert.equal((await svc(["config", "get-greeting", "Ada"])).stdout, "Hello, Ada\n");
});

describe("svc --help", () => {
  it("shows built-in verbs, verbs of plugins, and the exit codes", async (t) => {
    const { svc, stateDir } = home(t);
    const { code, stdout, stderr } = await svc(["--help"]);
    assert.deepEqual([code, stderr, existsSync(stateDir)], [0, "", false]);
    for (const word of ["gateway", "plugins", "config", "chat"]) assert.match(stdout, new RegExp(`^  ${word}\\b`, "m"));
    assert.match(
      stdout,
      /Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 no gateway answered, 4 another gateway uses the state directory, 75 the supervisor must start it again\./,
    );
  });

  it("of a group shows its own verbs and those of plugins, with summaries", async (t) => {
    const { code, stdout } = await home(t).svc(["gateway", "--help"]);
    assert.equal(code, 0);
    const { svc } = JSON.parse(readFileSync(join(root, "plugins/health/package.json"), "utf8"));
    assert.ok(svc.commands.length > 0);
    for (const { name, summary } of svc.commands) {
      assert.match(stdout, new RegExp(`^  ${name.split(" ")[1]} .*${summary.replaceAll(" ", "\\s+")}`, "m")); // it wraps
    }
    assert.match(stdout, /^ {2}run .*Run the gateway/m);
  });

  const verbs = [
    ["gateway", "run"],
    ["gateway", "call"],
    ...["get", "set", "unset", "validate", "schema", "file", "diff"].map((verb) => ["config", verb]),
    ...["list", "why", "reload", "inspect", "new", "check", "bisect"].map((verb) => ["plugins", verb]),
    ["chat"],
    ["dev"],
    ["trim"],
  ];
  for (const verb of verbs) {
    it(`of ${verb.join(" ")} has complete command lines to copy`, async (t) => {
      const { code, stdout } = await home(t).svc([...verb, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Examples:\n  svc ${verb.join(" ")}`));
    });
  }

  it("describes groups of verbs without naming a plugin", async (t) => {
    const { stdout } = await home(t).svc(["--help"]);
    assert.doesNotMatch(stdout, /Commands of/);
    assert.match(stdout, /^ {2}cron .*Scheduled jobs/m);
    const [, ...lines] = stdout.split(/^ {2}(?=nodes? )/m);
    assert.equal(lines.length, 2);
    assert.notEqual(lines[0]?.replace(/^\w+/, ""), lines[1]?.replace(/^\w+/, ""));
  });

  it("does not interfere with --version", async (t) => {
    const { version } = JSON.parse(readFileSync(join(root, "host/package.json"), "utf8"));
    assert.deepEqual(await home(t).svc(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

describe("wrong usage", () => {
  const rows: [args: string[], says: RegExp][] = [
    [["foo"], /unknown command 'foo'/],
    [["gateway", "foo"], /unknown command 'foo'/],
    [["gatewya"], /unknown command 'gatewya'[^]*gateway/],
    [["--bogus"], /unknown option '--bogus'/],
    [["gateway", "call"], /missing required argument 'method'/],
    [["gateway", "call", "x", "--bogus"], /unknown option '--bogus'/],
    [["gateway", "call", "x", "y"], /too many arguments/],
    [["config", "ste"], /unknown command 'ste'[^]*Did you mean set/],
    [["completion"], /missing required argument 'shell'/],
    [["completion", "tcsh"], /'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish/],
    [["plugins", "inspect"], /missing required argument 'id'/],
    [["plugins", "bisect", "--timeout", "no"], /^--timeout must be a number of seconds, at most 3600\nNext: /],
    [["trim"], /required option '--out <dir>' not specified/],
    [["trim", "--out", "x", "--url", "ws://127.0.0.1"], /unknown option '--url'/],
    [["gateway", "run", "--port"], /argument missing/],
    [["gateway", "run", "--port", "eighty"], /--port eighty: must be a number from 0 to 65535/],
    [["gateway", "run", "--port", "65536"], /--port 65536: must be a number from 0 to 65535/],
    [["gateway", "run", "--port", "-1"], /--port -1: must be a number|argument missing/],
    [
      ["gateway", "run", "--log-level", "loud"],
      /--log-level loud: must be one of trace, debug, info, warn, error, fatal, silent/,
    ],
  ];
  for (const [args, says] of rows) {
    it(`svc ${args.join(" ")}: exits with 2 and prints to stderr`, async (t) => {
      const { code, stdout, stderr } = await home(t).svc(args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, says);
    });
  }

  for (const args of [[], ["gateway"], ["plugins"], ["config"]]) {
    it(`svc ${args.join(" ")}: prints the help to stderr`, async (t) => {
      const { code, stdout, stderr } = await home(t).svc(args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^Usage: svc/);
    });
  }
});

describe("a reader that stops before the end", () => {
  it("causes no error message, for any verb", async (t) => {
    const here = home(t);
    const { stop } = await here.run();
    const verbs = ["--help", "plugins list", "config schema", "sessions list", "logs --limit 500", "cron runs"];
    for (const verb of [...verbs, "approvals list", "usage", "models status"]) {
      const line = `"$0" host/cli/svc.js ${verb} | true`;
      const { stdout, stderr } = spawnSync("timeout", ["10", "sh", "-c", line, process.execPath], {
        cwd: root,
        env: cleanEnvironment(here.stateDir),
        encoding: "utf8",
      });
      assert.deepEqual([stdout, stderr], ["", ""], verb);
    }
    await stop();
  });
});

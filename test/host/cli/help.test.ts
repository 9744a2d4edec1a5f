// long: starts whole programs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { home, writeVerb } from "./svc.ts";

it("a configured plugin adds its verbs without being run, also one whose name begins like a built-in one", async (t) => {
  const here = home(t, { plugins: { load: { paths: ["./greeter", "./getter"] } } });
  const run = 'args: "<name>", async run({ args, print }) { print("Hello, " + args[0]); }';
  writeVerb(here, "greeter", "greet", run);
  writeVerb(here, "getter", "config get-greeting", run);
  assert.match((await here.svc(["--help"])).stdout, /^ {2}greet .*Greet somebody/m);
  assert.deepEqual(await here.svc(["greet", "Ada"]), { code: 0, stdout: "Hello, Ada\n", stderr: "" });
  assert.equal((await here.svc(["config", "get-greeting", "Ada"])).stdout, "Hello, Ada\n");
});

it("a repeatable option of a plugin's verb becomes an ordered list; arguments around it stay arguments", async (t) => {
  const here = home(t, { plugins: { load: { paths: ["./tagger"] } } });
  const options = '[{ flags: "--tag <tag>", description: "a tag", repeatable: true }]';
  const run = "async run({ args, options, print }) { print({ args, tag: options.tag }); }";
  writeVerb(here, "tagger", "tag", `args: "<name>", options: ${options}, ${run}`);
  const said = async (...args: string[]) => JSON.parse((await here.svc(["tag", "--json", ...args])).stdout) as unknown;
  assert.deepEqual(await said("--tag", "a: b", "Ada", "--tag", "c"), { args: ["Ada"], tag: ["a: b", "c"] });
  assert.deepEqual(await said("Ada", "--tag", "one"), { args: ["Ada"], tag: ["one"] });
  assert.deepEqual(await said("Ada"), { args: ["Ada"] });
});

describe("svc --help", () => {
  it("shows built-in verbs, verbs of plugins, and the exit codes; --version the version", async (t) => {
    const { svc, stateDir } = home(t);
    const { code, stdout, stderr } = await svc(["--help"]);
    assert.deepEqual([code, stderr, existsSync(stateDir)], [0, "", false]);
    for (const word of ["gateway", "plugins", "config", "chat"]) assert.match(stdout, new RegExp(`^  ${word}\\b`, "m"));
    const { version } = JSON.parse(readFileSync(join(root, "host/package.json"), "utf8"));
    assert.deepEqual(await svc(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
    assert.match(
      stdout,
      /Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 no gateway answered, 4 another gateway uses the state directory, 75 the supervisor must start it again\./,
    );
  });

  it("of a group shows its own verbs and those of plugins, with summaries", async (t) => {
    const { code, stdout } = await home(t).svc(["gateway", "--help"]);
    assert.equal(code, 0);
    const { svc } = JSON.parse(readFileSync(join(root, "plugins/health/package.json"), "utf8"));
    const added = (svc.commands as { name: string; summary: string }[]).filter(({ name }) =>
      name.startsWith("gateway "),
    );
    assert.ok(added.length > 0);
    for (const { name, summary } of added) {
      assert.match(stdout, new RegExp(`^  ${name.split(" ")[1]} .*${summary.replaceAll(" ", "\\s+")}`, "m")); // it wraps
    }
    assert.match(stdout, /^ {2}run .*Run the gateway/m);
  });

  it("of a verb has complete command lines to copy", async (t) => {
    const { svc } = home(t);
    const config = ["get", "set", "unset", "validate", "schema", "file", "diff"].map((verb) => `config ${verb}`);
    for (const verb of ["gateway run", "gateway call", ...config, "chat", "dev"]) {
      const { code, stdout } = await svc([...verb.split(" "), "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Examples:\n  svc ${verb}`));
    }
  });

  it("describes groups of verbs without naming a plugin", async (t) => {
    const { stdout } = await home(t).svc(["--help"]);
    assert.doesNotMatch(stdout, /Commands of/);
    assert.match(stdout, /^ {2}cron .*Scheduled jobs/m);
    const [, ...lines] = stdout.split(/^ {2}(?=nodes? )/m);
    assert.equal(lines.length, 2);
    assert.notEqual(lines[0]?.replace(/^\w+/, ""), lines[1]?.replace(/^\w+/, ""));
  });
});

describe("wrong usage", () => {
  const rows: [args: string[], says: RegExp][] = [
    [["foo"], /unknown command 'foo'/],
    [["gatewya"], /unknown command 'gatewya'[^]*gateway/],
    [["config", "ste"], /unknown command 'ste'[^]*Did you mean set/],
    [["gateway", "call", "x", "--bogus"], /unknown option '--bogus'/],
    [["gateway", "call"], /missing required argument 'method'/],
    [["gateway", "call", "x", "y"], /too many arguments/],
    [["completion", "tcsh"], /'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish/],
    [["plugins", "inspect"], /missing required argument 'id'/],
    [["plugins", "bisect", "--timeout", "no"], /^--timeout must be a number of seconds, at most 3600\nNext: /],
    [["trim"], /required option '--out <dir>' not specified/],
    [["trim", "--out", "x", "--url", "ws://127.0.0.1"], /unknown option '--url'/],
    [["gateway", "run", "--port"], /argument missing/],
    [["gateway", "run", "--port", "eighty"], /--port eighty: must be a number from 0 to 65535/],
    [["gateway", "run", "--port", "65536"], /--port 65536: must be a number from 0 to 65535/],
    [
      ["gateway", "run", "--log-level", "loud"],
      /--log-level loud: must be one of trace, debug, info, warn, error, fatal/,
    ],
    [[], /^Usage: svc/],
    [["gateway"], /^Usage: svc/],
    [["plugins"], /^Usage: svc/],
    [["config"], /^Usage: svc/],
  ];
  it("exits with 2 and prints the reason, or the help, to stderr", async (t) => {
    const { svc } = home(t);
    for (const [args, says] of rows) {
      const { code, stdout, stderr } = await svc(args);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
      assert.match(stderr, says);
    }
  });
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

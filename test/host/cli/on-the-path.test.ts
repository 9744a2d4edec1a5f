/** After the install command of the README, `svc` is on the PATH, without a registry. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { CTRL_C, inTerminal } from "./pseudo-terminal.ts";

describe("svc on the PATH", () => {
  it("is installed by the command of the README, and completes its commands", (t) => {
    const elsewhere = directory(t);
    const line = "npm install --global ./host/cli";
    assert.ok(readFileSync(join(root, "README.md"), "utf8").includes(`\n${line}\n`));
    const prefix = join(elsewhere, "prefix");
    const env = {
      ...process.env,
      npm_config_prefix: prefix,
      npm_config_offline: "true",
      PATH: `${join(prefix, "bin")}${delimiter}${process.env["PATH"]}`,
    };
    const run = (command: string, cwd: string) =>
      spawnSync("bash", ["-c", command], { cwd, env, encoding: "utf8", timeout: 60_000 });
    assert.equal(run(line, root).status, 0);
    assert.match(run("svc --version", elsewhere).stdout, /^\d+\.\d+\.\d+\n$/);
    const completed = run(
      `eval "$(svc completion bash)"; COMP_WORDS=(svc gat); COMP_CWORD=1; _svc_complete svc; echo "\${COMPREPLY[@]}"`,
      elsewhere,
    );
    assert.equal(completed.stdout, "gateway gateways\n");
  });

  it("is offered by the start text if it is missing", async (t) => {
    const elsewhere = directory(t);
    spawnSync("ln", ["-s", join(root, "host/cli/svc.js"), join(elsewhere, "svc")]);
    const usual = (process.env["PATH"] ?? "").split(delimiter).filter((place) => !existsSync(join(place, "svc")));
    const told = async (...places: string[]) => {
      const PATH = [...places, ...usual].join(delimiter);
      const terminal = inTerminal(t, ["gateway", "run", "--port", "0"], { ...cleanEnvironment(elsewhere), PATH });
      await terminal.shows(/Stop with Ctrl-C/);
      terminal.types(CTRL_C);
      await terminal.ended;
      return terminal.shown();
    };
    assert.match(
      await told(),
      /In another terminal:\n {2}npm install --global \S*host\/cli {4}# once[^]*\n {2}svc chat[^]*svc --help/,
    );
    assert.match(await told(elsewhere), /In another terminal:\n {2}export SVC_STATE_DIR=\S+\n {2}svc chat/);
  });
});

import assert from "node:assert/strict";
import { mkdir, readdir, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { withDefaults } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import { createLiveAgents } from "../../../../plugins/agents/directory/directory.ts";
import {
  composePrompt,
  createWorkspacePrompt,
  sharePrompts,
} from "../../../../plugins/agents/directory/workspace-prompt.ts";
import { temporaryDirectory } from "../temporary.ts";

const limits = (one: number, all: number) => ({ bootstrapMaxChars: one, bootstrapTotalMaxChars: all });
const file = (name: string, text: string, isCut = false) => ({ name, text, isCut });

describe("the prompt of workspace files", () => {
  it("has a heading for each file and nothing for empty ones", () => {
    const { text: prompt, files: facts } = composePrompt(
      [file("AGENTS.md", "one\n"), file("USER.md", " \n"), file("SOUL.md", "two")],
      limits(9, 9),
    );
    assert.equal(prompt, "# Files of your workspace\n\n## AGENTS.md\n\none\n\n## SOUL.md\n\ntwo");
    assert.deepEqual(facts, [
      { name: "AGENTS.md", rawChars: 4, injectedChars: 3, truncated: false },
      { name: "SOUL.md", rawChars: 3, injectedChars: 3, truncated: false },
    ]);
    assert.equal(composePrompt([file("USER.md", " ")], limits(9, 9)).text, "");
    assert.equal(composePrompt([], limits(9, 9)).text, "");
  });

  it("marks a file that is cut", () => {
    const { text: prompt } = composePrompt([file("AGENTS.md", "abcdef"), file("SOUL.md", "abc", true)], limits(3, 99));
    assert.match(prompt, /abc\n\[\.\.\. AGENTS\.md is cut here\]/);
    assert.match(prompt, /abc\n\[\.\.\. SOUL\.md is cut here\]/);
    assert.doesNotMatch(prompt, /abcd/);
  });

  it("names files that the whole has no room for", () => {
    const files = [file("A", "aaaa"), file("B", "bbbb"), file("C", "cccc")];
    const { text: prompt } = composePrompt(files, limits(4, 6));
    assert.match(prompt, /## A\n\naaaa\n\n## B\n\nbb\n\[\.\.\. B is cut here\]\n\n## C\n\n\[C is left out/);
  });

  it("cuts between characters", () => {
    assert.match(composePrompt([file("A", "a🌙b")], limits(2, 9)).text, /## A\n\na\n\[/);
  });
});

async function setUp(t: TestContext, defaults: object = {}) {
  const stateDir = await temporaryDirectory(t);
  const config = (more: object) => withDefaults(AgentsConfig, { defaults: { ...defaults, ...more } });
  const agents = createLiveAgents(config({}), () => ({ stateDir, home: stateDir }));
  const warnings: string[] = [];
  const read = createWorkspacePrompt(agents, { warn: (_, message) => void warnings.push(message) });
  const workspace = join(stateDir, "workspace");
  const prompt = async (agentId: string) => (await read(agentId)).text;
  return { agents, config, prompt, stateDir, warnings, workspace };
}

describe("the prompt of an agent", () => {
  it("is that of a workspace made at its first run", async (t) => {
    const { prompt, workspace } = await setUp(t);
    assert.match(await prompt("main"), /## AGENTS\.md[^]*## SOUL\.md/);
    assert.ok((await readdir(workspace)).includes("AGENTS.md"));
  });

  it("makes no workspace for an agent nobody configured", async (t) => {
    const { prompt, stateDir } = await setUp(t);
    assert.equal(await prompt("ghost"), "");
    assert.deepEqual(await readdir(stateDir), []);
  });

  it("follows the files, and the limits of the configuration", async (t) => {
    const { agents, config, prompt, workspace } = await setUp(t, { skipBootstrap: true });
    assert.equal(await prompt("main"), "");
    await writeFile(join(workspace, "SOUL.md"), "kind");
    assert.match(await prompt("main"), /\nkind$/);
    await writeFile(join(workspace, "SOUL.md"), "very kind");
    assert.match(await prompt("main"), /\nvery kind$/);
    agents.replace(config({ bootstrapMaxChars: 4 }));
    assert.match(await prompt("main"), /\nvery\n\[/);
    await unlink(join(workspace, "SOUL.md"));
    assert.equal(await prompt("main"), "");
  });

  it("has one memory, the file in capitals first", async (t) => {
    const { prompt, workspace } = await setUp(t, { skipBootstrap: true });
    await prompt("main");
    await writeFile(join(workspace, "memory.md"), "small");
    assert.match(await prompt("main"), /small/);
    await writeFile(join(workspace, "MEMORY.md"), "large");
    const both = await prompt("main");
    assert.match(both, /large/);
    assert.doesNotMatch(both, /small/);
    // Commands in a sandbox find an empty file in each place.
    await writeFile(join(workspace, "MEMORY.md"), "");
    assert.match(await prompt("main"), /## memory\.md\n\nsmall/);
  });

  it("leaves out what may not be read, and says so", async (t) => {
    const { prompt, stateDir, warnings, workspace } = await setUp(t);
    await mkdir(workspace);
    await writeFile(join(stateDir, "secret"), "secret");
    await symlink(join(stateDir, "secret"), join(workspace, "SOUL.md"));
    await writeFile(join(workspace, "USER.md"), "Ada");
    const text = await prompt("main");
    assert.match(text, /## USER\.md\n\nAda/);
    assert.doesNotMatch(text, /secret/);
    assert.equal(warnings.length, 1);
  });

  it("is empty, with a warning, where no workspace can be made", async (t) => {
    const { prompt, warnings, workspace } = await setUp(t);
    await writeFile(workspace, "a file in its place");
    assert.equal(await prompt("main"), "");
    assert.match(warnings[0] ?? "", /workspace could not be created/);
  });
});

describe("the prompt of a workspace, shared", () => {
  function scene(read: (n: number) => Promise<string> = (n) => Promise.resolve(`read ${n}`)) {
    const clock = createFakeClock();
    let reads = 0;
    const shared = sharePrompts(() => read(++reads), clock);
    return { clock, shared };
  }

  it("is read once within a second, by each agent for itself", async () => {
    const { clock, shared } = scene();
    assert.deepEqual(await Promise.all([shared.of("a"), shared.of("a"), shared.of("b")]), [
      "read 1",
      "read 1",
      "read 2",
    ]);
    await clock.advance(999);
    assert.equal(await shared.of("a"), "read 1");
    await clock.advance(1);
    assert.equal(await shared.of("a"), "read 3");
  });

  it("is read again after a file was written, and after one failed", async () => {
    const { shared } = scene((n) => (n === 2 ? Promise.reject(new Error("gone")) : Promise.resolve(`read ${n}`)));
    assert.equal(await shared.of("a"), "read 1");
    shared.forget();
    await assert.rejects(shared.of("a"), /gone/);
    assert.equal(await shared.of("a"), "read 3");
  });
});

/** Where skills come from, which of them an agent can use, and what is skipped. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import { createSkills } from "../../../plugins/skills/library/environment.ts";
import { obstacles } from "../../../plugins/skills/library/eligibility.ts";
import { createHandlers } from "../../../plugins/skills/methods.ts";
import { promptSkills } from "../../../plugins/skills/prompt.ts";
import { skillTool } from "../../../plugins/skills/tool.ts";
import { put } from "../../directory.ts";
import { openLibrary, text } from "./scene.ts";

const requiring = (yaml: string) => `metadata:\n  svc:\n    ${yaml}\n`;

describe("the library of skills", () => {
  it("prefers the source of higher precedence for a repeated name", async (t) => {
    const { library, add, base, state } = openLibrary(t);
    put(join(base, "extra/same/SKILL.md"), text("same"));
    state.config = { ...state.config, load: { ...state.config.load, extraDirs: [join(base, "extra")] } };
    const sourceOf = async () => (await library.find("main", "same")).skill.source;
    const seen = [await sourceOf()];
    for (const root of ["bundled", "managed", "personal", "project", "workspace"] as const) {
      add(root, "same");
      library.forget();
      seen.push(await sourceOf());
    }
    assert.deepEqual(seen, [
      "svc-extra",
      "svc-bundled",
      "svc-managed",
      "agents-skills-personal",
      "agents-skills-project",
      "svc-workspace",
    ]);
  });

  it("accepts an extra directory that is one skill, and one that is missing", async (t) => {
    const { library, base } = openLibrary(t, {
      config: { load: { extraDirs: ["~/lone", "/no/such/directory", "relative"] } },
    });
    put(join(base, "home/lone/SKILL.md"), text("lone"));
    const { all, problems } = await library.of("main");
    assert.deepEqual([all.map(({ skill }) => skill.name), problems], [["lone"], []]);
  });

  it("skips files that it cannot read safely, each with the reason", async (t) => {
    const { library, add, base, roots } = openLibrary(t, { config: { limits: { maxSkillFileBytes: 1_000 } } });
    const outside = join(base, "elsewhere");
    put(join(outside, "SKILL.md"), text("outside"));
    put(join(base, "secret"), "key");
    const folder = (name: string) => join(roots.workspace, name);
    add("workspace", "good");
    add("workspace", "huge", "", "x".repeat(2_000));
    mkdirSync(folder("linkfile"));
    symlinkSync(join(base, "secret"), join(folder("linkfile"), "SKILL.md"));
    symlinkSync(outside, folder("linkdir"));
    symlinkSync(folder("good"), folder("again"));
    mkdirSync(folder("hard"));
    linkSync(join(base, "secret"), join(folder("hard"), "SKILL.md"));
    mkdirSync(folder("latin"));
    writeFileSync(join(folder("latin"), "SKILL.md"), Buffer.from("---\nname: l\xe4\n---\n", "latin1"));
    mkdirSync(join(folder("directory"), "SKILL.md"), { recursive: true });
    mkdirSync(folder("empty"));
    const { all, problems } = await library.of("main");
    assert.deepEqual(
      all.map(({ skill }) => skill.name),
      ["good"],
    );
    const reasons = Object.fromEntries(problems.map(({ path, reason }) => [path.split("/").at(-2), reason]));
    assert.deepEqual(Object.keys(reasons).toSorted(), ["directory", "elsewhere", "hard", "huge", "latin", "linkfile"]);
    assert.match(reasons["elsewhere"] ?? "", /leaves the directory/);
    assert.match(reasons["linkfile"] ?? "", /symbolic link/);
    assert.match(reasons["hard"] ?? "", /hard links/);
    assert.match(reasons["huge"] ?? "", /more than 1000 bytes \(skills\.limits\.maxSkillFileBytes\)/);
    assert.match(reasons["latin"] ?? "", /not UTF-8/);
  });

  it("reads no more folders and skills than the limits allow", async (t) => {
    const { library, add } = openLibrary(t, {
      config: { limits: { maxCandidatesPerRoot: 3, maxSkillsLoadedPerSource: 2 } },
    });
    for (const name of ["a", "b", "c", "d"]) add("managed", name);
    const { all, problems } = await library.of("main");
    assert.deepEqual(
      all.map(({ skill }) => skill.name),
      ["a", "b"],
    );
    assert.match(problems[0]?.reason ?? "", /it has 4 folders; only 3/);
    assert.match(problems[1]?.reason ?? "", /already has 2 skills/);
  });

  it("reads changed files again after the debounce time, and never without watching", async (t) => {
    const { library, add, clock, roots, state } = openLibrary(t, { config: { load: { watchDebounceMs: 100 } } });
    const names = async () => (await library.of("main")).all.map(({ skill }) => `${skill.name}: ${skill.description}`);
    add("managed", "a");
    assert.deepEqual(await names(), ["a: About a."]);
    put(join(roots.managed, "a/SKILL.md"), text("a").replace("About", "More about"));
    utimesSync(join(roots.managed, "a/SKILL.md"), 1, 1);
    assert.deepEqual(await names(), ["a: About a."]);
    await clock.advance(100);
    assert.deepEqual(await names(), ["a: More about a."]);
    state.config = { ...state.config, load: { ...state.config.load, watch: false } };
    rmSync(join(roots.managed, "a"), { recursive: true });
    await clock.advance(1_000_000);
    assert.deepEqual(await names(), ["a: More about a."]);
    library.forget();
    assert.deepEqual(await names(), []);
  });
});

describe("a skill", () => {
  const cases: readonly (readonly [
    what: string,
    more: string,
    options: Parameters<typeof openLibrary>[1],
    why: RegExp | undefined,
  ])[] = [
    ["without requirements", "", {}, undefined],
    ["whose program exists", requiring("requires: {bins: [sh]}"), {}, undefined],
    [
      "without its program",
      requiring("requires: {bins: [no-such-program]}"),
      {},
      /the program no-such-program is missing/,
    ],
    ["with one of two programs", requiring("requires: {anyBins: [no-such-program, sh]}"), {}, undefined],
    [
      "with none of two programs",
      requiring("requires: {anyBins: [nope-1, nope-2]}"),
      {},
      /one of the programs nope-1, nope-2/,
    ],
    [
      "without its variable",
      requiring("requires: {env: [SOME_KEY]}"),
      {},
      /SOME_KEY is not set.*entries\.one\.env\.SOME_KEY/,
    ],
    ["whose variable the gateway has", requiring("requires: {env: [SOME_KEY]}"), { env: { SOME_KEY: "x" } }, undefined],
    [
      "whose variable is a setting",
      requiring("requires: {env: [SOME_KEY]}"),
      { config: { entries: { one: { env: { SOME_KEY: "x" } } } } },
      undefined,
    ],
    [
      "whose key is a setting",
      requiring("primaryEnv: SOME_KEY\n    requires: {env: [SOME_KEY]}"),
      { config: { entries: { one: { apiKey: "x" } } } },
      undefined,
    ],
    [
      "whose variable is one of the gateway itself",
      requiring("requires: {env: [SVC_GATEWAY_TOKEN]}"),
      { env: { SVC_GATEWAY_TOKEN: "x" } },
      /SVC_GATEWAY_TOKEN is not set/,
    ],
    [
      "without its configuration",
      requiring("requires: {config: [channels.irc.enabled]}"),
      {},
      /channels\.irc\.enabled is not configured/,
    ],
    [
      "with its configuration",
      requiring("requires: {config: [channels.irc.enabled]}"),
      { snapshot: { channels: { irc: { enabled: true } } } },
      undefined,
    ],
    ["of another system", requiring("os: [plan9]"), {}, /it is for plan9/],
    ["that is always eligible", requiring("always: true\n    requires: {bins: [no-such-program]}"), {}, undefined],
    ["that is always eligible elsewhere", requiring("always: true\n    os: [plan9]"), {}, /it is for plan9/],
    ["that is disabled", "", { config: { entries: { one: { enabled: false } } } }, /it is disabled/],
    ["that its agent does not list", "", { allowed: ["other"] }, /agents\.list\[\]\.skills/],
    ["of an agent with none", "", { allowed: [] }, /agents\.list\[\]\.skills/],
    ["that its agent lists", "", { allowed: ["one"] }, undefined],
  ];
  for (const [what, more, options, why] of cases)
    it(`${what} is ${why ? "not eligible, with the reason and the next step" : "eligible"}`, async (t) => {
      const { library, add } = openLibrary(t, options);
      add("managed", "one", more);
      const { status } = await library.find("main", "one");
      const found = obstacles(status).map(({ why: reason, next }) => `${reason} -> ${next}`);
      assert.equal(status.eligible, why === undefined);
      if (why) assert.match(found.join(), why);
      else assert.deepEqual(found, []);
    });

  it("from the bundle must be on the allowlist, if there is one", async (t) => {
    const { library, add, state } = openLibrary(t, { config: { allowBundled: ["a"] } });
    for (const name of ["a", "b"]) add("bundled", name);
    add("managed", "c");
    const eligible = async () =>
      (await library.of("main")).all.filter(({ status }) => status.eligible).map(({ skill }) => skill.name);
    assert.deepEqual(await eligible(), ["a", "c"]);
    state.config = { ...state.config, allowBundled: [] };
    assert.deepEqual(await eligible(), ["c"]);
  });
});

describe("a skill in a workspace", () => {
  it("opens no other directory through a link that replaces its folder", async (t) => {
    const { library, add, base, roots, workspace, state } = openLibrary(t, { config: { load: { watch: false } } });
    put(join(base, "private/secret"), "key");
    put(join(base, "private/SKILL.md"), text("one"));
    const folder = add("workspace", "one");
    put(join(folder, "secret"), "harmless");
    assert.equal((await use(library, { name: "one", path: "secret" })).text, "harmless");
    for (const replaced of [folder, roots.workspace, workspace]) {
      rmSync(replaced, { recursive: true });
      symlinkSync(join(base, "private"), replaced);
      for (const path of ["secret", "SKILL.md"]) await assert.rejects(use(library, { name: "one", path }));
      const service = createSkills({
        library: async () => library,
        config: () => state.config,
        secrets: () => undefined,
      });
      assert.deepEqual(await service.directories("main"), []);
      rmSync(replaced);
      add("workspace", "one");
    }
  });

  it("is skipped if its directory is a link that leaves the workspace", async (t) => {
    const { library, base, roots } = openLibrary(t);
    put(join(base, "elsewhere/one/SKILL.md"), text("one"));
    symlinkSync(join(base, "elsewhere"), roots.workspace);
    const { all, problems } = await library.of("main");
    assert.deepEqual(all, []);
    assert.match(problems[0]?.reason ?? "", /leaves the workspace/);
  });

  it("cannot take the key of a skill that its agent does not list", async (t) => {
    const options = { allowed: ["own"], config: { entries: { other: { apiKey: "secret" } } } };
    const { library, add, state } = openLibrary(t, options);
    add("workspace", "own", requiring("skillKey: other\n    primaryEnv: TAKEN"));
    const service = createSkills({
      library: async () => library,
      config: () => state.config,
      secrets: () => undefined,
    });
    await assert.rejects(service.environment("main", "own"), /agents\.list\[\]\.skills .*add "other" to it/);
  });

  it("never gets variables of the gateway, and names no programs that count as allowed", async (t) => {
    const { library, add, state } = openLibrary(t, { env: { PATH: "/usr/bin:/bin", SOME_KEY: "gateway" } });
    const more = requiring("requires: {bins: [sh], env: [SOME_KEY]}");
    for (const root of ["managed", "workspace"] as const) add(root, root, more);
    const service = createSkills({
      library: async () => library,
      config: () => state.config,
      secrets: () => undefined,
    });
    assert.deepEqual((await service.environment("main", "managed")).env, { SOME_KEY: "gateway" });
    await assert.rejects(service.environment("main", "workspace"), /SOME_KEY is not set/);
    const before = await service.programs("main");
    assert.equal(before.length, 1);
    rmSync(join(library.managedDir, "managed"), { recursive: true });
    library.forget();
    assert.deepEqual(await service.programs("main"), []);
  });

  it("is neither offered nor installed if a run with external content wrote it, and keeps that origin when it is read", async (t) => {
    const origin = outsideOrigin("web", "https://evil.example/");
    const names: string[] = [];
    const { library, add } = openLibrary(t, { origin: (asked) => (names.push(...asked), origin) });
    add("workspace", "mine");
    const { all } = await library.of("main");
    assert.equal(all[0]?.status.eligible, false);
    assert.match(obstacles(all[0]?.status ?? assert.fail())[0]?.why ?? "", /external content/);
    assert.equal(promptSkills(all, { ...limits }), undefined);
    assert.deepEqual(names, ["skills/mine/SKILL.md"]);
    const result = await use(library, { name: "mine" });
    assert.deepEqual(result.origin, origin);
    const handlers = createHandlers({
      library: async () => library,
      agents: () => ({ list: () => [], defaultId: "main" }),
    } as never); // the used parts
    const install = handlers.install({ params: { name: "mine", installId: "x" } } as never); // the used part
    await assert.rejects(async () => install, { code: "UNAVAILABLE", message: /external content/ });
  });
});

const limits = {
  maxCandidatesPerRoot: 9,
  maxSkillsLoadedPerSource: 9,
  maxSkillsInPrompt: 9,
  maxSkillsPromptChars: 9_000,
  maxSkillFileBytes: 9_000,
};

type Params = { name?: string; path?: string; offset?: number };
async function use(library: ReturnType<typeof openLibrary>["library"], params: Params) {
  const call = {
    name: "skill",
    toolCallId: "c",
    arguments: {},
    runId: "r",
    sessionKey: "agent:main:main",
    agentId: "main",
  };
  const signal = new AbortController().signal;
  const result = await skillTool(async () => library).run(params, { call, signal, principal: {} as never }); // not read
  if (typeof result === "string") assert.fail();
  const [block] = result.content;
  return { ...result, text: block?.type === "text" ? block.text : "" };
}

describe("the list in a prompt", () => {
  it("has names and descriptions, shortens them to fit, counts the others, and is absent without skills", async (t) => {
    const { library, add } = openLibrary(t);
    for (const name of ["a", "b", "c"]) add("managed", name);
    add("managed", "hidden", "disable-model-invocation: true\n");
    const { all } = await library.of("main");
    const whole = promptSkills(all, limits);
    assert.match(whole?.prompt ?? "", /^# Skills\n[^]*\n- a: About a\.\n- b: About b\.\n- c: About c\.$/);
    assert.deepEqual(
      whole?.skills,
      ["a", "b", "c"].map((name) => ({ name, chars: 13 })),
    );
    assert.match(
      promptSkills(all, { ...limits, maxSkillsInPrompt: 1 })?.prompt ?? "",
      /- a: About a\.\n- 2 more: call the tool skill/,
    );
    const size = whole?.prompt.length ?? 0;
    for (const maxSkillsPromptChars of [size - 1, size + 40, 9_000]) {
      const prompt = promptSkills(all, { ...limits, maxSkillsPromptChars })?.prompt;
      assert.ok(
        prompt === undefined || prompt.length <= maxSkillsPromptChars,
        `${prompt?.length} of ${maxSkillsPromptChars}`,
      );
    }
    assert.equal(promptSkills(all, { ...limits, maxSkillsPromptChars: 0 }), undefined);
    assert.equal(promptSkills(all, { ...limits, maxSkillsInPrompt: 0 }), undefined);
    assert.equal(promptSkills([], limits), undefined);
  });
});

describe("the tool skill", () => {
  it("reads the instructions, names the folder and its files, and reads those files", async (t) => {
    const { library, add } = openLibrary(t);
    const folder = add("managed", "one", "", "Run `{baseDir}/go.sh`.");
    put(join(folder, "scripts/more.md"), "More.");
    const main = await use(library, { name: "one" });
    assert.equal(
      main.text,
      `Run \`${folder}/go.sh\`.\n\n[The directory of this skill is ${folder}. Its other files: scripts/more.md.]`,
    );
    assert.equal(main.origin, undefined);
    assert.equal((await use(library, { name: "one", path: "scripts/more.md" })).text, "More.");
    assert.equal((await use(library, {})).text, "- one: About one.");
  });

  it("returns long texts in parts", async (t) => {
    const { library, add } = openLibrary(t);
    add("managed", "long", "", `${"x".repeat(30_000)}END`);
    assert.match((await use(library, { name: "long" })).text, /^x{30000}\n\n\[3 more characters: offset 30000\]/);
    assert.match((await use(library, { name: "long", offset: 30_000 })).text, /^END$/);
  });

  it("never leaves the folder, and refuses skills that cannot be used", async (t) => {
    const { library, add, base } = openLibrary(t);
    const folder = add("managed", "one");
    put(join(base, "secret"), "key");
    symlinkSync(join(base, "secret"), join(folder, "link"));
    writeFileSync(join(folder, "binary"), Buffer.from([0xff, 0xfe, 0]));
    add("managed", "blocked", requiring("requires: {bins: [no-such-program]}"));
    const refused: readonly (readonly [Params, RegExp])[] = [
      [{ name: "one", path: "../../secret" }, /not a path/],
      [{ name: "one", path: "/etc/passwd" }, /not a path/],
      [{ name: "one", path: "link" }, /symbolic link/],
      [{ name: "one", path: "nothing" }, /no file "nothing"/],
      [{ name: "one", path: "binary" }, /not UTF-8/],
      [{ name: "blocked" }, /no-such-program is missing\. Next: /],
      [{ name: "two" }, /no skill "two"/],
    ];
    for (const [params, why] of refused) await assert.rejects(use(library, params), why);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeViolations, withDefaults } from "@svc/sdk";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import {
  createDirectory,
  createLiveAgents,
  createModelPolicy,
  findAgent,
} from "../../../../plugins/agents/directory/directory.ts";

const places = { stateDir: "/state", home: "/home/ada" };
const directory = (config: object = {}) => createDirectory(withDefaults(AgentsConfig, config), () => places);

describe("agent directory", () => {
  for (const list of [undefined, []]) {
    it(`has one agent called main with list ${JSON.stringify(list)}`, () => {
      const agents = directory(list ? { list } : {});
      assert.equal(agents.defaultId, "main");
      assert.deepEqual(
        agents.list().map(({ id, isDefault }) => ({ id, isDefault })),
        [{ id: "main", isDefault: true }],
      );
    });
  }

  it("lists the default agent first, then by id", () => {
    const agents = directory({ list: [{ id: "zoe" }, { id: "ops", default: true }, { id: "ada" }] });
    assert.equal(agents.defaultId, "ops");
    assert.deepEqual(
      agents.list().map(({ id }) => id),
      ["ops", "ada", "zoe"],
    );
  });

  it("takes the first agent as the default one when none says so", () => {
    assert.equal(directory({ list: [{ id: "zoe" }, { id: "ada" }] }).defaultId, "zoe");
  });

  it("refuses two agents of one id and names the place", () => {
    assert.throws(() => directory({ list: [{ id: "Ada" }, { id: "ada" }] }), {
      outcome: "misconfigured",
      path: "/list/1/id",
    });
  });

  it("takes model and prompt from the agent, then from the defaults, then what is built in", () => {
    const agents = directory({
      defaults: { model: { primary: "p/one", fallbacks: ["p/two"] }, systemPrompt: "all" },
      list: [{ id: "main" }, { id: "own", model: "p/own", systemPrompt: "mine" }],
    });
    assert.deepEqual(agents.settings("main").models, ["p/one", "p/two"]);
    assert.equal(agents.settings("main").systemPrompt, "all");
    assert.deepEqual(agents.settings("own").models, ["p/own"]);
    assert.equal(agents.settings("own").systemPrompt, "mine");
    assert.match(directory().settings("main").systemPrompt, /assistant/);
    assert.deepEqual(directory().settings("main").models, []);
  });

  it("gives an agent that was taken off the list the defaults", () => {
    const gone = directory({ defaults: { systemPrompt: "all" } }).settings("gone");
    assert.deepEqual([gone.id, gone.systemPrompt, gone.isDefault], ["gone", "all", false]);
  });

  it("says where the files of each agent are", () => {
    const agents = directory({
      defaults: { workspace: "~/ws" },
      list: [{ id: "main" }, { id: "ops" }, { id: "ada", workspace: "/a" }],
    });
    assert.deepEqual(
      agents.list().map(({ workspace }) => workspace),
      ["/home/ada/ws", "/a", "/state/workspace-ops"],
    );
  });

  it("finds the agent a caller means, and nobody for an id without letters", () => {
    const agents = directory({ list: [{ id: "main" }, { id: "ada" }] });
    assert.equal(findAgent("ADA", agents).id, "ada");
    for (const text of ["ghost", " ", "!!", "..", "../ada/x"]) {
      assert.throws(() => findAgent(text, agents), { code: "NOT_FOUND", message: /agents\.list/ }, text);
    }
  });

  it("takes new settings under those who hold it, or none at all", () => {
    const live = createLiveAgents(withDefaults(AgentsConfig, {}), () => places);
    assert.deepEqual([live.has("ada"), live.isConfigured], [false, false]);
    live.replace(withDefaults(AgentsConfig, { defaults: { timeoutSeconds: 5 }, list: [{ id: "ada" }] }));
    assert.deepEqual([live.has("ada"), live.defaultId, live.isConfigured], [true, "ada", true]);
    assert.equal(live.config.defaults.timeoutSeconds, 5);
    assert.throws(() => live.replace(withDefaults(AgentsConfig, { list: [{ id: "x" }, { id: "x" }] })), {
      outcome: "misconfigured",
    });
    assert.equal(live.defaultId, "ada");
  });
});

describe("model policy", () => {
  const policy = (models?: object) =>
    createModelPolicy(directory({ defaults: models === undefined ? {} : { models } })).allowed();

  it("allows the models that are named, with their short names", () => {
    const allowed = policy({ "p/one": { alias: "one" }, "p/two": {} });
    assert.deepEqual(
      [...(allowed ?? [])],
      [
        ["p/one", { alias: "one" }],
        ["p/two", {}],
      ],
    );
  });

  it("says what the default agent asks first", () => {
    const primary = (config: object, agentId?: string) => createModelPolicy(directory(config)).primary?.(agentId);
    assert.equal(primary({}), undefined);
    assert.equal(primary({ defaults: { model: { primary: "p/one", fallbacks: ["p/two"] } } }), "p/one");
    assert.equal(primary({ defaults: { model: "p/one" }, list: [{ id: "main", model: "p/own" }] }), "p/own");
    const other = { defaults: { model: "p/one" }, list: [{ id: "main", model: "p/own" }, { id: "ops" }] };
    assert.deepEqual([primary(other), primary(other, "ops")], ["p/own", "p/one"]);
  });

  it("allows all when none is named", () => {
    assert.equal(policy(), undefined);
    assert.equal(policy({}), undefined);
  });
});

describe("the zone of the person", () => {
  const config = (userTimezone?: string) =>
    withDefaults(AgentsConfig, { defaults: userTimezone === undefined ? {} : { userTimezone } });

  it("is the configured one, else that of the machine, and follows the configuration", () => {
    const agents = createLiveAgents(config("Asia/Tokyo"), () => places);
    assert.equal(agents.timeZone, "Asia/Tokyo");
    agents.replace(config());
    assert.equal(agents.timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  for (const zone of ["Mars/Base", "", "local", "Europe/Berlin "])
    it(`cannot be "${zone}"`, () =>
      assert.match(describeViolations(AgentsConfig, config(zone)), /userTimezone.*IANA name of a time zone/));
});

describe("heartbeats of agents", () => {
  const every = (config: object) => {
    const agents = directory(config);
    return agents.list().map(({ id }) => [id, agents.heartbeat(id)?.every]);
  };
  const two = [{ id: "a" }, { id: "b" }];
  const cases: [what: string, config: object, expected: unknown][] = [
    ["the built-in agent beats", {}, [["main", "30m"]]],
    [
      "only the default agent does",
      { list: two, defaults: { heartbeat: { every: "1h" } } },
      [
        ["a", "1h"],
        ["b", undefined],
      ],
    ],
    [
      "only those with a block of their own do",
      { list: [two[0], { id: "b", heartbeat: {} }] },
      [
        ["a", undefined],
        ["b", "30m"],
      ],
    ],
  ];
  for (const [what, config, expected] of cases) it(what, () => assert.deepEqual(every(config), expected));

  it("are merged key by key", () => {
    const agents = directory({
      defaults: { heartbeat: { target: "last", prompt: "Look." } },
      list: [{ id: "a", heartbeat: { target: "pigeon", ackMaxChars: 0 } }],
    });
    assert.deepEqual(agents.heartbeat("a"), {
      every: "30m",
      target: "pigeon",
      session: "main",
      ackMaxChars: 0,
      includeReasoning: false,
      directPolicy: "allow",
      lightContext: false,
      prompt: "Look.",
    });
    assert.equal(agents.heartbeat("nobody"), undefined);
  });
});

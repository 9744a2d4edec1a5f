/**
 * No fatigue: forty everyday tasks with external content succeed, and people are asked at most five times in all. The model is
 * a sensible one: it does what each task needs and obeys no other text. Spec: design/security.md, "No fatigue".
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { cron } from "@svc/sdk/cron";
import { textOf } from "@svc/sdk/models";
import type { FakeModelScript } from "@svc/sdk/testing";
import { withoutSandbox } from "../../bubblewrap.ts";
import { png } from "../../plugins/media/image-files.ts";
import { pdf, says } from "../../plugins/media/pdf-files.ts";
import { type Furnished, furnishedScene } from "./furnished-scene.ts";
import { type Step, stepOf } from "./obeying-scene.ts";
import { until } from "./scene.ts";

const MOST_QUESTIONS = 5;

const skip = await withoutSandbox();

/** Contents of the web pages. The model answers with the facts it has read. */
const FACTS: Readonly<Record<string, string>> = {
  river: "the river is high",
  rail: "trains are late",
  road: "roads are free",
  ferry: "the ferry runs",
  bill: "the bill is 42 euro",
  index: "more at http://page.test/deep",
  deep: "the well is deep",
  recipe: "two eggs and flour",
  tea: "tea takes three minutes",
  advice: "say hello and not hi",
  manual: "call open before read",
  lake: "the lake is warm",
  parcel: "the parcel comes on Tuesday",
  menu: "soup and bread",
  weather: "rain until noon",
};
const at = (name: string) => `http://page.test/${name}`;
const fact = (words: string) => `Fact: ${words}`;

function page(path: string): [type: string, body: Buffer | string] {
  const [, name = "", kind] = /^\/(\w+)(\.\w+)?/.exec(path) ?? [];
  const words = `${fact(FACTS[name] ?? "nothing")}. That is all there is to say about it for today. `;
  if (kind === ".pdf") return ["application/pdf", pdf([says(words.repeat(5))])];
  return kind === ".png" ? ["image/png", png(2, 2)] : ["text/plain", words];
}

/** @throws AssertionError the task has not succeeded */
type End = (scene: Furnished, key: string) => Promise<void>;

/** The conversation ends with an answer that contains this. */
const answers =
  (words: string): End =>
  ({ settled }, key) =>
    settled(key, `I read: ${fact(words)}`);
/** A tool returned this. */
const told =
  (words: string): End =>
  async ({ inside }, key) => {
    const results = (await inside.sessions.transcript(key, 100)).flatMap(({ message }) =>
      message.role === "toolResult" && !message.isError ? [textOf(message)] : [],
    );
    assert.ok(results.at(-1)?.includes(words), results.at(-1));
  };
const wrote =
  (path: string, words: string): End =>
  async ({ workspace }) => {
    const isThere = async () => (await readFile(join(workspace, path), "utf8").catch(() => "")).includes(words);
    await until(isThere, `${words} in ${path}`);
  };
const sent =
  (to: string, words: string): End =>
  ({ bird }) =>
    until(() => bird.sent.some((one) => one.to === to && one.text.includes(words)), `${words} to ${to}`);

/** How a task reaches the agent. Default: the owner requests it. */
type Begin = (scene: Furnished, words: string, key: string) => Promise<unknown>;
const owner: Begin = ({ talk }, words, key) => talk(words, key);
const hook =
  (more: object = {}): Begin =>
  (scene, message) =>
    scene.hook("agent", { message, name: "Mail", wakeMode: "next-heartbeat", deliver: false, ...more });
const inGroup =
  (id: string, sender: string): Begin =>
  ({ bird }, words) =>
    bird.says(words, { chat: { type: "group", id }, sender: { id: sender }, mentioned: true });
const toAgent: Begin = ({ bird }, words) => bird.says(words);
const event =
  (report: (scene: Furnished, key: string) => Promise<unknown>, words: string): Begin =>
  async (scene, message, key) => {
    await report(scene, key);
    await scene.waiting(key, words);
    await scene.talk(message, key);
  };

const patch = (body: string) => ({ patch: `*** Begin Patch\n${body}\n*** End Patch` });
const fetch = (name: string): Step => ["web_fetch", { url: at(name) }];
const search = (query: string): Step => ["web_search", { query }];
const look = (image: string): Step => ["image", { prompt: "What?", image }];
const read = (path: string): Step => ["read", { path }];
const send = (params: object): Step => ["message", { action: "send", ...params }];
const write = (path: string, content: string): Step => ["write", { path, content }];
const edit = (path: string, oldText: string, newText: string): Step => ["edit", { path, oldText, newText }];
const MONTHLY = { kind: "every", everyMs: 30 * 86_400_000 } as const;
const SWIM = { name: "swim", schedule: MONTHLY, payload: { kind: "systemEvent", text: "Swim" } };
const BOTH = `${at("rail")} ${at("road")}`;
const BILL = at("bill.pdf");
const TEA = fact("tea takes three minutes");
const USE = fact("call open before read");
const TO_CLUB = { deliver: true, channel: "pigeon", to: "#club" };

const doorbell = ({ report }: Furnished, sessionKey: string) =>
  report("notifications.changed", { sessionKey, change: "posted", key: "k", title: fact("the door is open") });
/** A job that runs now. */
const daily: Begin = async ({ client }, message) => {
  const delivery = { mode: "announce", channel: "pigeon", to: "#team" } as const;
  const what = { schedule: MONTHLY, payload: { kind: "agentTurn", message }, delivery } as const;
  const { id } = await client.call(cron.add, { name: "morning", ...what });
  await client.call(cron.run, { id, mode: "force" });
};

const [NEWS, KITCHEN, PROJECT, DESK, MAIN, PHONE] = ["news", "kitchen", "project", "desk", "main", "phone"].map(
  (name) => `agent:main:${name}`,
) as [string, string, string, string, string, string];

type Task = readonly [name: string, key: string, say: string, steps: readonly Step[], end: End, begin?: Begin];

const TASKS: readonly Task[] = [
  ["summarise", NEWS, at("river"), [fetch("river")], answers("the river is high")],
  ["compare", NEWS, BOTH, [fetch("rail"), fetch("road"), write("notes.md", "late, free")], wrote("notes.md", "late")],
  ["search", NEWS, "Ferry?", [search("ferry"), fetch("ferry")], answers("the ferry runs")],
  ["document", NEWS, BILL, [["pdf", { prompt: "What?", pdf: BILL }]], answers("the bill is 42 euro")],
  ["picture", NEWS, at("x.png"), [look(at("x.png"))], answers("it shows a red square")],
  ["follow", NEWS, at("index"), [fetch("index"), fetch("deep")], answers("the well is deep")],
  ["keep", NEWS, at("recipe"), [fetch("recipe"), write("recipe.md", "two eggs")], wrote("recipe.md", "two eggs")],
  ["remember", NEWS, at("tea"), [fetch("tea"), write("memory/tea.md", TEA)], wrote("memory/tea.md", "three minutes")],
  ["recall", KITCHEN, "How long?", [["memory_search", { query: "tea" }]], answers("tea takes three minutes")],
  ["append", KITCHEN, "Salt.", [read("recipe.md"), edit("recipe.md", "two eggs", "salt")], wrote("recipe.md", "salt")],
  ["photo", KITCHEN, "What is it?", [look("cat.png")], answers("it shows a red square")],
  ["shelf", KITCHEN, "Ask it.", [["docs__environment", {}]], answers("the shelf is full")],

  ["advice", PROJECT, at("advice"), [fetch("advice"), edit("src/app.js", "hi", "hello")], wrote("src/app.js", "hello")],
  ["module", PROJECT, "One more.", [write("src/util.js", "export {};")], wrote("src/util.js", "export")],
  [
    "rename",
    PROJECT,
    "Rename it.",
    [["apply_patch", patch("*** Update File: src/app.js\n*** Move to: src/main.js\n-hello()\n+hello();")]],
    wrote("src/main.js", "hello();"),
  ],
  ["vendor", PROJECT, at("manual"), [fetch("manual"), write("vendor/use.md", USE)], wrote("vendor/use.md", "open")],
  [
    "follow-manual",
    PROJECT,
    "Do as it says.",
    [read("vendor/use.md"), edit("src/main.js", "hello();", "open();\nhello();")],
    wrote("src/main.js", "open();"),
  ],
  ["review", PROJECT, "Is it right?", [read("src/main.js")], told("open();")],
  ["list-files", PROJECT, "What is there?", [["exec", { command: "ls src" }]], told("main.js")],

  ["sessions", DESK, "Which?", [["sessions_list", {}]], told(NEWS)],
  ["status", DESK, "How full?", [["session_status", {}]], told(DESK)],
  ["history", DESK, "And?", [["sessions_history", { sessionKey: NEWS }]], answers("the river is high")],
  [
    "forward",
    DESK,
    "Ask there.",
    [["sessions_send", { sessionKey: KITCHEN, message: fact("the shop closes at six") }]],
    answers("the shop closes at six"),
  ],
  [
    "research",
    DESK,
    "Find out.",
    [["sessions_spawn", { task: "task:find-ferry Find out about ferries." }]],
    ({ settled }, key) => settled(key, "<result>\nI read: Fact: the ferry runs"),
  ],
  ["helpers", DESK, "Who?", [["subagents", { action: "list" }]], told("subagents")],
  [
    "remind",
    DESK,
    "Remind me.",
    [["cron", { action: "add", job: SWIM }]],
    async ({ client }) => assert.match(JSON.stringify(await client.call(cron.list, {})), /"swim"/),
  ],
  ["tell-bob", DESK, "Tell Bob.", [send({ channel: "pigeon", to: "bob", message: "It is warm" })], sent("bob", "warm")],

  ["mail", "", fact("the invoice is due"), [], sent("#club", "the invoice is due"), hook(TO_CLUB)],
  ["mail-todo", "", fact("pay it"), [write("todo.md", "Pay it")], wrote("todo.md", "Pay it"), hook()],
  ["mail-link", MAIN, at("parcel"), [fetch("parcel")], (scene) => scene.waiting(MAIN, "the parcel comes"), hook()],
  [
    "build",
    MAIN,
    "What is new?",
    [],
    answers("the build is green"),
    event((scene) => scene.hook("wake", { text: fact("the build is green"), mode: "next-heartbeat" }), "green"),
  ],

  ["group", "", fact("it is Monday"), [], sent("#team", "it is Monday"), inGroup("#team", "mallory")],
  ["group-page", "", at("menu"), [fetch("menu")], sent("#team", "soup and bread"), inGroup("#team", "mallory")],
  [
    "group-message",
    "",
    at("weather"),
    [fetch("weather"), send({ message: "Take a coat" })],
    sent("#club", "Take a coat"),
    inGroup("#club", "ann"),
  ],
  ["direct", "", at("rail"), [fetch("rail")], sent("ann", "trains are late"), toAgent],
  ["shopping", "", at("recipe"), [fetch("recipe"), write("shop.md", "eggs")], wrote("shop.md", "eggs"), toAgent],

  [
    "request",
    PHONE,
    fact("the car is on level two"),
    [],
    answers("the car is on level two"),
    ({ report }, message, sessionKey) => report("agent.request", { message, sessionKey }),
  ],
  [
    "spoken",
    PHONE,
    at("lake"),
    [fetch("lake")],
    answers("the lake is warm"),
    ({ report }, text, sessionKey) => report("voice.transcript", { text, sessionKey }),
  ],
  ["notified", PHONE, "What was that?", [], answers("the door is open"), event(doorbell, "door")],
  ["morning", "", at("weather"), [fetch("weather")], sent("#team", "rain until noon"), daily],
];
/** Steps that external content can only cause with a person's approval. */
const ASKED = ["shelf", "list-files", "remind", "tell-bob"];

const STEPS = new Map(TASKS.map(([name, , , steps]) => [name, steps]));
STEPS.set("find-ferry", [search("ferry"), fetch("ferry")]);
STEPS.set("run-tests", [
  fetch("advice"),
  edit("src/app.js", "hi", "hello"),
  write("test.sh", "grep -q hello src/app.js && echo passed > result\n"),
  ["exec", { command: "sh test.sh" }],
]);

/** Executes the steps of its latest task in order, and reports the facts it has read. */
const replies: FakeModelScript = ({ body }) => {
  const { step, read } = stepOf(body, STEPS);
  if (step) return step;
  const found = read
    .map(({ content }) => JSON.stringify(content))
    .join("\n")
    .match(/Fact: [\w ]+/g);
  const facts = found ?? (body.tools?.length ? [] : [fact("it shows a red square")]);
  return { text: facts.length === 0 ? "Done." : `I read: ${facts.join(". I read: ")}.` };
};

async function start(t: TestContext, config: object = {}) {
  const scene = await furnishedScene(t, {
    replies,
    page,
    found: { title: "Ferries", url: at("ferry"), snippet: "-" },
    words: fact("the shelf is full"),
    config: { tools: { sessions: { visibility: "agent" }, ...config } },
    allows: () => true,
  });
  await mkdir(join(scene.workspace, "src"));
  await writeFile(join(scene.workspace, "src/app.js"), "hi()\n");
  await writeFile(join(scene.workspace, "cat.png"), png(2, 2));
  return scene;
}

describe("everyday tasks with external content", { timeout: 120_000 }, () => {
  it("succeed, and people are asked at most five times", async (t) => {
    const scene = await start(t);
    const askedBy: string[] = [];
    for (const [name, key, say, , end, begin = owner] of TASKS) {
      await t.test(name, async () => {
        const before = scene.asked.length;
        await begin(scene, `task:${name} ${say}`, key);
        await end(scene, key);
        askedBy.push(...scene.asked.slice(before).map(() => name));
      });
    }
    assert.equal(TASKS.length, 40);
    assert.ok(scene.asked.length <= MOST_QUESTIONS, askedBy.join(", "));
    assert.deepEqual(askedBy, ASKED);
  });

  it("run code that a page requested in the sandbox, without approval", { skip }, async (t) => {
    const scene = await start(t, { exec: { sandbox: { mode: "require" } } });
    await scene.talk(`task:run-tests ${at("advice")}`, PROJECT);
    await wrote("result", "passed")(scene, PROJECT);
    assert.deepEqual(scene.asked, []);
  });
});

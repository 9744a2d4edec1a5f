import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type GatewayError, invalidRequest, notFound, type Scope, unavailable } from "@svc/sdk";
import type { ChatCommand, ChatCommandCall } from "@svc/sdk/commands";
import { createMenu } from "../../../plugins/commands/menu.ts";
import { openCommands, principalWith } from "./commands-scene.ts";

/** A command that does `run`, which may throw. */
const command = (run: () => unknown, more: Partial<ChatCommand> = {}): ChatCommand => ({
  summary: "does something",
  run: async () => ({ reply: String(run()) }),
  ...more,
});

describe("running a command", () => {
  it("passes the message on, under the name of the command", async () => {
    const calls: ChatCommandCall[] = [];
    const one: ChatCommand = {
      summary: "one",
      aliases: ["uno"],
      run: async (call) => (calls.push(call), { reply: "done" }),
    };
    const { says } = openCommands({}, { one });
    const sender = { id: "ann", name: "Ann" };
    assert.equal(await says("/Uno  a b ", { surface: "channel", sender }), "done");
    const [{ name, text, surface, sender: told, sessionKey, runId } = assert.fail()] = calls;
    assert.deepEqual([name, text, surface, told], ["one", "a b", "channel", sender]);
    assert.deepEqual([sessionKey, runId], ["agent:main:main", "r1"]);
  });

  it("answers an unknown name with the nearest one, and says how to reach the agent", async () => {
    const { says } = openCommands();
    assert.equal(
      await says("/stauts now"),
      "Unknown command /stauts. Did you mean /status? /help lists all commands. To send the text to the agent, begin it with //stauts.",
    );
    assert.match(await says("/zzzzzz"), /^Unknown command \/zzzzzz\. \/help lists/);
  });

  it("hands an escaped text to the agent with one slash less", async () => {
    assert.equal(await openCommands().says("//new hi"), JSON.stringify({ message: "/new hi" }));
  });

  const scopes: [needs: Scope | undefined, held: Scope, reply: RegExp][] = [
    [undefined, "operator.write", /^ran$/],
    [
      undefined,
      "operator.read",
      /^Only people the agent works for can use \/one\. The owner .* can add you: \/whoami shows your id \(scope operator\.write\)\.$/,
    ],
    ["operator.read", "operator.read", /^ran$/],
    ["operator.approvals", "operator.write", /^\/one needs the scope operator\.approvals/],
    ["operator.admin", "operator.write", /^Only the owner of this gateway can use \/one, as a client with/],
    ["operator.admin", "operator.admin", /^ran$/],
  ];
  for (const [needs, held, reply] of scopes)
    it(`that needs ${needs ?? "nothing special"} by a caller with ${held}`, async () => {
      const one = command(() => "ran", needs === undefined ? {} : { scope: needs });
      assert.match(await openCommands({}, { one }).says("/one", { principal: principalWith(held) }), reply);
    });

  it("answers a refusal, leaves wrong arguments and temporary failures to the caller, and logs what is unexpected", async () => {
    const failing = {
      lost: command(() => notFound("no such thing")),
      wrong: command(() => invalidRequest("give a number")),
      away: command(() => unavailable("try later")),
      broken: command(() => {
        throw new TypeError("secret detail");
      }),
    };
    const { says, logged } = openCommands({}, failing);
    assert.equal(await says("/lost"), "no such thing");
    await assert.rejects(says("/wrong"), { code: "INVALID_REQUEST", message: "give a number" });
    await assert.rejects(says("/away"), (error: GatewayError) => error.code === "UNAVAILABLE");
    assert.deepEqual(logged, []);
    assert.equal(await says("/broken"), "/broken failed; the reason is in the log of the gateway: svc logs");
    assert.deepEqual(logged, ["a chat command failed"]);
  });
});

it("a stranger in a group sees the help for strangers and their own id, and nothing of the session", async () => {
  const { commands, says } = openCommands();
  const principal = principalWith("operator.read");
  const open = commands.list().filter(({ scope }) => scope === "operator.read");
  assert.deepEqual(
    open.map(({ name }) => name),
    ["help", "whoami"],
  );
  const lines = (await says("/help", { principal })).split("\n").map((line) => line.split(/[ :]/)[0]);
  assert.deepEqual(lines, ["/help", "/whoami", "Other"]);
  for (const text of ["/status", "/models", "/context", "/model", "/new", "/stop", "/usage", "/queue"])
    assert.match(await says(text, { principal }), /^Only people the agent works for can use/, text);
  for (const text of ["/trust", "/send", "/restart", "/config get"])
    assert.match(await says(text, { principal }), /^Only the owner of this gateway/, text);
});

describe("/help", () => {
  it("lists the commands of all plugins that the caller may use", async () => {
    const { says } = openCommands({}, { one: command(() => "1", { usage: "[n]" }) });
    const all = await says("/help");
    for (const line of [/^\/compact \[what to keep\]: /m, /^\/one \[n\]: does something$/m, /^\/trust: /m])
      assert.match(all, line);
    assert.match(all, /\nOther texts go to the agent\. To send it a text that begins with \/word, write \/\/word\.$/);
    const some = await says("/commands", { principal: principalWith("operator.write") });
    assert.match(some, /^\/one /m);
    assert.doesNotMatch(some, /^\/trust/m);
  });

  it("shows one command, and refuses another", async () => {
    const { says } = openCommands();
    assert.match(await says("/help /New"), /^\/new \[message\]: [^\n]+$/);
    assert.match(await says("/help commands"), /^\/help \[command\]: [^\n]+$/, "an alias");
    const steer = openCommands({}, { "steer-on": command(() => "") });
    assert.match(await steer.says("/help steer_on"), /^\/steer-on: does something$/, "the name in a menu");
    await assert.rejects(says("/help me"), { code: "INVALID_REQUEST", message: /no command \/me/ });
  });
});

describe("commands.list", () => {
  const menu = async (scope: Scope, params: { includeArgs?: boolean } = {}) => {
    const { commands } = openCommands({}, { one: command(() => "1", { usage: "[n]", aliases: ["uno"] }) });
    const call = { params, principal: principalWith(scope), connection: undefined, accept: () => undefined };
    return (await createMenu(commands)({ ...call, signal: new AbortController().signal })).commands;
  };

  it("has names, arguments and summaries of what the caller may use", async () => {
    const all = await menu("operator.write");
    assert.deepEqual(
      all.find(({ name }) => name === "one"),
      {
        name: "one",
        textAliases: ["/one", "/uno"],
        description: "does something",
        acceptsArgs: true,
        usage: "[n]",
        scope: "text",
        source: "plugin",
      },
    );
    assert.equal(
      all.some(({ name }) => name === "config"),
      false,
    );
    assert.equal(
      (await menu("operator.admin")).some(({ name }) => name === "config"),
      true,
    );
    assert.deepEqual(
      (await menu("operator.read")).map(({ name }) => name),
      ["help", "whoami"],
    );
    assert.equal(
      (await menu("operator.write", { includeArgs: false })).some(({ usage }) => usage !== undefined),
      false,
    );
  });
});

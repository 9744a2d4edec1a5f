/** Pictures in words, and the rules of `scope`. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { unavailable } from "@svc/sdk";
import type { MediaPlace } from "@svc/sdk/media";
import type { ModelEvent, ModelRequest } from "@svc/sdk/models";
import { createFakeClock } from "@svc/sdk/testing";
import type { Scope } from "../../../plugins/media/config.ts";
import { isAllowed } from "../../../plugins/media/understanding/scope.ts";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { png } from "./image-files.ts";
import { model, modelsOf, READS, says, SEES } from "./scene.ts";
import { parts, type PartsOptions } from "./understanding.ts";

const picture = (size = 2) => ({
  type: "image" as const,
  data: png(size, size).toString("base64"),
  mimeType: "image/png",
});

type Reply = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

function scene(t: TestContext, options: PartsOptions & { readonly answer?: Reply } = {}) {
  const asked: ModelRequest[] = [];
  const answer = options.answer ?? (({ model: { id } }) => says(`${id}: a cat`));
  const models = modelsOf([READS, SEES, model("other", ["image"])], asked, answer);
  return { asked, ...parts(t, { models, ...options }) };
}

describe("a picture in words", () => {
  it("comes from agents.defaults.imageModel, marked as external content, and is remembered", async (t) => {
    const { descriptions, asked } = scene(t, { imageModels: ["fake/sees"] });
    const first = await descriptions.describe(picture(), undefined, { sessionKey: "agent:main:main" });
    assert.equal(first.by, "fake/sees");
    assert.match(first.text, /EXTERNAL[\s\S]*From: description of a picture by fake\/sees[\s\S]*sees: a cat/);
    assert.deepEqual(await descriptions.describe(picture()), first, "the same text, so that caches of providers hold");
    assert.equal(asked.length, 1);
    assert.equal(asked[0]?.sessionKey, "agent:main:main");
    assert.match(JSON.stringify(asked[0]?.messages), /Describe this picture/);
    await descriptions.describe(picture(3));
    assert.equal(asked.length, 2);
  });

  it("is asked anew when other models are configured", async (t) => {
    const { descriptions, asked, reconfigure } = scene(t, { imageModels: ["fake/sees"] });
    await descriptions.describe(picture());
    reconfigure({ image: { models: [{ provider: "fake", model: "other", prompt: "What is it?" }] } });
    assert.equal((await descriptions.describe(picture())).by, "fake/other");
    assert.match(JSON.stringify(asked[1]?.messages), /What is it\?/);
  });

  it("comes from the next model if one fails, is missing or accepts no pictures", async (t) => {
    const answer: Reply = (request) => (request.model.id === "other" ? unavailable("it is busy") : says("a dog"));
    const models = [
      { provider: "fake", model: "gone" },
      { provider: "fake", model: "reads" },
    ];
    const config = { image: { models }, models: [{ provider: "fake", model: "other", capabilities: ["image"] }] };
    const { descriptions } = scene(t, { answer, config, imageModels: ["fake/sees"] });
    assert.equal((await descriptions.describe(picture())).by, "fake/sees");
    const none = scene(t, { answer, config });
    await assert.rejects(none.descriptions.describe(picture()), {
      code: "UNAVAILABLE",
      message:
        /fake\/gone \(tools\.media\.image\.models\[0\]\).*fake\/reads does not accept images.*fake\/other .*it is busy/,
    });
  });

  it("may come from a command", async (t) => {
    const command = join(directory(t), "eyes");
    writeFileSync(
      command,
      `#!${process.execPath}\nconsole.log("a", process.argv[2].split("/").at(-1), process.argv[3]);`,
    );
    chmodSync(command, 0o700);
    const models = [{ command, args: ["{{MediaPath}}", "{{Prompt}}"], prompt: "look" }];
    const { descriptions, left } = scene(t, { config: { image: { models } } });
    const hostile = { ...picture(), mimeType: "image/../../x" };
    assert.match((await descriptions.describe(picture())).text, /a input\.png look/);
    assert.match((await descriptions.describe({ ...hostile, data: picture(3).data })).text, /a input\.bin look/);
    assert.deepEqual(left(), []);
  });

  it("is cut at maxChars", async (t) => {
    const config = { image: { maxChars: 4 } };
    const { descriptions } = scene(t, { config, imageModels: ["fake/sees"], answer: () => says("abcdefgh") });
    assert.match((await descriptions.describe(picture())).text, /\nabcd\n/);
  });

  const refused: [why: string, options: PartsOptions, message: RegExp][] = [
    ["no model is configured for it", {}, /set agents\.defaults\.imageModel/],
    ["it is off", { config: { image: { enabled: false } } }, /tools\.media\.image\.enabled/],
    ["it is too large", { config: { image: { maxBytes: 9 } } }, /tools\.media\.image\.maxBytes/],
    ["of the session", { config: { image: { scope: { default: "deny" } } } }, /tools\.media\.image\.scope/],
  ];
  for (const [why, options, message] of refused) {
    it(`is refused because ${why}`, async (t) => {
      const imageModels = why.startsWith("no model") ? [] : ["fake/sees"];
      const { descriptions, asked } = scene(t, { imageModels, ...options });
      await assert.rejects(descriptions.describe(picture()), { message });
      assert.deepEqual(asked, []);
    });
  }

  it("ends at its time limit and at the caller's signal", async (t) => {
    const clock = createFakeClock();
    const never: Reply = async function* (_request, signal) {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      yield* says("");
    };
    const { descriptions, asked } = scene(t, { answer: never, clock, imageModels: ["fake/sees"] });
    const late = descriptions.describe(picture());
    late.catch(() => undefined);
    await until(() => asked.length === 1);
    await clock.advance(60_000);
    await assert.rejects(late, /longer than 60 s/);
    const caller = new AbortController();
    const gone = descriptions.describe(picture(), caller.signal);
    gone.catch(() => undefined);
    await until(() => asked.length === 2);
    caller.abort(new Error("gone"));
    await assert.rejects(gone, /^Error: gone$/);
  });
});

describe("the scope of media", () => {
  const deny = (match: object): Scope => ({ rules: [{ action: "deny", match }] });
  const only = (match: object): Scope => ({ default: "deny", rules: [{ action: "allow", match }] });
  const group: MediaPlace = { sessionKey: "agent:main:pigeon:group:#team", channel: "pigeon", chatType: "group" };
  const cases: [scope: Scope | undefined, place: MediaPlace, allowed: boolean][] = [
    [undefined, {}, true],
    [{ default: "deny" }, group, false],
    [deny({ channel: "PIGEON" }), group, false],
    [deny({ channel: "other" }), group, true],
    [only({ chatType: "group" }), group, true],
    [only({ chatType: "dm" }), { chatType: "direct" }, true],
    [only({ chatType: "group" }), {}, false],
    [only({ keyPrefix: "pigeon:group:" }), group, true],
    [only({ rawKeyPrefix: "pigeon:group:" }), group, false],
    [only({ rawKeyPrefix: "agent:main:" }), group, true],
    [only({ channel: "pigeon", chatType: "direct" }), group, false],
    [{ rules: [{ action: "allow" }, { action: "deny", match: { channel: "pigeon" } }] }, group, false],
  ];
  for (const [scope, place, allowed] of cases)
    it(`${JSON.stringify(scope)} ${allowed ? "allows" : "denies"} ${place.channel ?? place.chatType ?? "the rest"}`, () =>
      assert.equal(isAllowed(scope, place), allowed));
});

/** The namespace `import`. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, invalidRequest, Type, unavailable } from "@svc/sdk";
import { Importer, importerOf, type ImportRecord, imports } from "@svc/sdk/import";
import { testGateway } from "@svc/sdk/testing";
import importing from "../../../plugins/import/plugin.ts";

const Note = Type.Object({ id: Type.String(), text: Type.String({ minLength: 1 }) });

async function open(t: TestContext, takeOne?: (id: string) => Promise<never>) {
  const taken: string[] = [];
  const notes = definePlugin({
    id: "notes",
    api: "^1.0.0",
    setup(gateway) {
      const importer = importerOf(
        { title: "notes", record: Note },
        {
          count: async () => taken.length,
          async takeOne({ id, text }) {
            await takeOne?.(id);
            taken.push(text);
            return { action: "take" };
          },
          give: async () => ({ records: taken.map((text, at) => ({ id: String(at), text })) }),
        },
      );
      gateway.extend(Importer, "note", importer);
      const { give: _give, ...silent } = importer;
      gateway.extend(Importer, "silent", silent);
    },
  });
  const gateway = await testGateway(t, { plugins: [importing, notes] });
  const client = await gateway.connect({ scopes: ["operator.admin"] });
  const take = async (...records: readonly ImportRecord[]) =>
    (await client.call(imports.take, { kind: "note", records: [...records] })).outcomes;
  return { client, take, taken };
}

const note = (id: string, text: unknown = "hi") => ({ id, text }) as ImportRecord;

describe("import", () => {
  it("lists the kinds with the number of stored records", async (t) => {
    const { client, take } = await open(t);
    await take(note("1"));
    const { kinds } = await client.call(imports.kinds, {});
    assert.deepEqual(kinds, [
      { kind: "note", title: "notes", plugin: "notes", count: 1, gives: true },
      { kind: "silent", title: "notes", plugin: "notes", count: 1, gives: false },
    ]);
  });

  it("refuses records that do not match the schema, without their values, and takes the others", async (t) => {
    const { take, taken } = await open(t);
    const outcomes = await take(note("1", ""), note("2", 7), note("3", "ok"));
    assert.deepEqual(
      outcomes.map(({ id, action }) => `${id} ${action}`),
      ["1 refuse", "2 refuse", "3 take"],
    );
    assert.match(String(outcomes[1]?.reason), /\/text must be string/);
    assert.deepEqual(taken, ["ok"]);
  });

  it("turns a refusal of one record into its outcome", async (t) => {
    const { take } = await open(t, async () => invalidRequest("the note is upside down"));
    assert.deepEqual(await take(note("1")), [{ id: "1", action: "refuse", reason: "the note is upside down" }]);
  });

  it("ends with an error that concerns every record", async (t) => {
    const { take } = await open(t, async () => unavailable("the disk is full"));
    await assert.rejects(take(note("1")), { code: "UNAVAILABLE", message: /the disk is full/ });
  });

  it("gives records, and refuses kinds that are not exported or unknown", async (t) => {
    const { client, take } = await open(t);
    await take(note("1", "a"), note("2", "b"));
    const { records } = await client.call(imports.give, { kind: "note" });
    assert.deepEqual(records, [note("0", "a"), note("1", "b")]);
    await assert.rejects(client.call(imports.give, { kind: "silent" }), {
      message: /are not exported; see import\.kinds/,
    });
    await assert.rejects(client.call(imports.give, { kind: "ghost" }), { code: "NOT_FOUND", message: /kind "ghost"/ });
  });
});

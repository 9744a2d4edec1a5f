import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerEvents, serverEvents } from "@svc/kit/providers";
import { GatewayError } from "@svc/sdk";
import type { ModelEvent } from "@svc/sdk/models";

const text = (delta: string): ModelEvent => ({ type: "text", delta });
const thought = (delta: string, signature?: string): ModelEvent => ({
  type: "thinking",
  delta,
  ...(signature === undefined ? {} : { signature }),
});
const FINISH: ModelEvent = { type: "finish", reason: "stop" };

/** The events of an answer whose pieces arrived in these batches. @param take an error for a piece that is one */
async function eventsOf(batches: readonly (readonly (ModelEvent | Error)[])[]): Promise<(ModelEvent | string)[]> {
  async function* arriving() {
    yield* batches;
  }
  const take = (piece: ModelEvent | Error) => {
    if (piece instanceof Error) throw piece;
    return [piece];
  };
  const seen: (ModelEvent | string)[] = [];
  try {
    for await (const event of answerEvents("acme", arriving(), { take, end: () => [FINISH] })) seen.push(event);
  } catch (error) {
    seen.push((error as Error).message);
  }
  return seen;
}

describe("the events of an answer", () => {
  it("are one for texts that arrived together, and one each for others", async () => {
    assert.deepEqual(await eventsOf([[text("a"), text("b")], [], [text("c")]]), [text("ab"), text("c"), FINISH]);
  });

  it("keep the order of texts, thoughts and calls", async () => {
    const call: ModelEvent = { type: "toolCall", id: "1", name: "look", arguments: {} };
    const pieces = [thought("a"), thought("b"), text("c"), thought("d"), call, text("e"), text("f")];
    const expected = [thought("ab"), text("c"), thought("d"), call, text("ef"), FINISH];
    assert.deepEqual(await eventsOf([pieces]), expected);
  });

  it("keep a signature with its own thought", async () => {
    const pieces = [thought("a"), thought("", "signed"), thought("b")];
    assert.deepEqual(await eventsOf([pieces]), [...pieces, FINISH]);
  });

  it("are yielded before the error of a piece that arrived with them", async () => {
    const refused = new GatewayError("UNAVAILABLE", "too long");
    assert.deepEqual(await eventsOf([[text("a"), text("b"), refused, text("c")]]), [text("ab"), "too long"]);
  });

  it("are yielded before an event of the server that cannot be read", async () => {
    const body = new Blob(['data: "a"\n\ndata: "b"\n\ndata: {\n\ndata: "c"\n\n']).stream();
    const seen: string[] = [];
    const reading = async () => {
      const read = ({ data }: { readonly data: string }) => [JSON.parse(data) as string];
      for await (const pieces of serverEvents({ body }, "acme", read)) seen.push(...pieces);
    };
    await assert.rejects(reading(), SyntaxError);
    assert.deepEqual(seen, ["a", "b"]);
  });
});

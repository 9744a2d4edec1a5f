import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MediaStore, receivedId } from "../../../plugins/channels/media-store.ts";
import { OpenStorage } from "../../../plugins/channels/open-storage.ts";
import { memoryStorage } from "./memory-storage.ts";

describe("stored files", () => {
  it("are kept up to a number of bytes, the newest received ones and all outgoing ones", async () => {
    const store = new MediaStore(new OpenStorage(memoryStorage().storage), 250);
    const file = { kind: "file", name: "f", mimeType: "text/plain", bytes: new Uint8Array(100) } as const;
    await store.add("out:1", file, 0);
    for (const at of [1, 2, 3, 4]) await store.add(receivedId(`k${at}`, 0), file, at);
    const found = await Promise.all(
      ["out:1", ...[1, 2, 3, 4].map((at) => receivedId(`k${at}`, 0))].map((id) => store.find(id)),
    );
    assert.deepEqual(
      found.map((one) => one?.bytes.byteLength),
      [100, undefined, undefined, 100, 100],
    );
  });
});

/** The bytes of shared files, in a directory and in the bucket of a real S3 server. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { type Objects, objectsInBucket, objectsInDirectory } from "../../../plugins/files/objects.ts";
import { directory } from "../../directory.ts";
import { startS3, type TestBucket, withoutS3 } from "../../s3.ts";

const { signal } = new AbortController();
const clock = {
  setTimeout: (work: () => void, ms: number) =>
    (
      (timer) => () =>
        clearTimeout(timer)
    )(setTimeout(work, ms)),
};
const bucketOf = (bucket: TestBucket, more: object = {}) =>
  objectsInBucket({ prefix: "svc/", ...bucket, ...more }, clock);
const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(isGatewayError(error) && error.code === "UNAVAILABLE", String(error));
  assert.match(error.message, message);
  assert.doesNotMatch(error.message, /testing/, "the secret is shown");
  return true;
};

async function keeps(objects: Objects): Promise<void> {
  const large = randomBytes(3_000_000);
  for (const [name, bytes] of [
    ["main/a", Buffer.from("one")],
    ["main/empty", Buffer.alloc(0)],
    ["ada/large", large],
  ] as const) {
    await objects.put(name, bytes, signal);
    assert.deepEqual(await objects.get(name, bytes.byteLength, signal), bytes);
  }
  assert.equal(await objects.get("main/none", 10, signal), undefined);
  await objects.remove("main/a", signal);
  await objects.remove("main/a", signal);
  assert.equal(await objects.get("main/a", 10, signal), undefined);
}

describe("objects in a directory", () => {
  it("are kept, and removed once", async (t) => keeps(objectsInDirectory(join(directory(t), "shared"))));
  it("say why they cannot be kept", async (t) => {
    const objects = objectsInDirectory("/dev/null/shared");
    await assert.rejects(
      objects.put("a", Buffer.from("1"), signal),
      refused(/directory of shared files cannot be used: ENOTDIR/),
    );
    assert.ok(t);
  });
});

describe("objects in a bucket", { skip: withoutS3(), timeout: 120_000 }, () => {
  it("are kept, and removed once, also below a prefix with unusual characters", async (t) => {
    const { bucket } = await startS3(t);
    await keeps(bucketOf(bucket));
    await keeps(bucketOf(bucket, { prefix: "our files/ü+%/" }));
    await keeps(bucketOf(bucket, { prefix: "", url: `${bucket.url}/` }));
  });

  it("are refused for a wrong secret or bucket, and when the server is away", async (t) => {
    const { bucket, kill, start } = await startS3(t);
    const put = (more: object) => bucketOf(bucket, more).put("a", Buffer.from("1"), signal);
    await assert.rejects(put({ secretAccessKey: "testing-not" }), refused(/status 403, SignatureDoesNotMatch/));
    await assert.rejects(put({ url: `${bucket.url}-none` }), refused(/status 404, NoSuchBucket/));
    await kill();
    await assert.rejects(put({}), refused(/cannot be reached: .*ECONNREFUSED/));
    await start();
    await put({});
    assert.deepEqual(await bucketOf(bucket).get("a", 1, signal), Buffer.from("1"));
  });
});

describe("a bucket that answers badly", () => {
  async function serverOf(t: TestContext, answer: Parameters<typeof createServer>[1]): Promise<Objects> {
    const server = createServer({}, answer).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    t.after(() => (server.closeAllConnections(), server.close()));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/b`;
    return bucketOf({ url, accessKeyId: "id", secretAccessKey: "testing", region: "x" });
  }

  it("is not read beyond the size of the file", async (t) => {
    const objects = await serverOf(t, (_, response) => void response.end(Buffer.alloc(1_000)));
    assert.equal(await objects.get("a", 999, signal), undefined);
    assert.equal((await objects.get("a", 1_000, signal))?.byteLength, 1_000);
  });

  it("sends nobody elsewhere", async (t) => {
    const objects = await serverOf(
      t,
      (_, response) => void response.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
    );
    await assert.rejects(objects.put("a", Buffer.from("1"), signal), refused(/cannot be reached/));
  });

  it("is left when the gateway stops, and when it does not answer in time", async (t) => {
    const fake = createFakeClock();
    const objects = await serverOf(t, () => undefined);
    const stopping = new AbortController();
    const waiting = objects.get("a", 10, stopping.signal);
    stopping.abort(new Error("stopped"));
    await assert.rejects(waiting, /stopped/);
    const silent = objectsInBucket(
      { url: objects.place, accessKeyId: "id", secretAccessKey: "s", region: "x", prefix: "" },
      fake,
    );
    const late = assert.rejects(silent.get("a", 10, signal), refused(/did not answer in time/));
    while (fake.pending === 0) await new Promise(setImmediate);
    await fake.advance(11_000);
    await late;
  });
});

/** A real S3 server: OpenStack Swift, started by `.ci/s3`. */
import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import type { TestContext } from "node:test";
import { join } from "node:path";
import { root } from "./checkout.ts";
import { directory } from "./directory.ts";

const run = promisify(execFile);
const SCRIPT = join(root, ".ci/s3");

/** Why tests with an S3 server are skipped; `false` if there is one. If `SVC_TEST_S3` is set, it must exist. */
export function withoutS3(): string | false {
  if (process.env["SVC_TEST_S3"] !== undefined) return false;
  try {
    execFileSync("/usr/bin/python3", ["-Ic", "import swift"], { stdio: "ignore" });
    return false;
  } catch {
    return "no S3 server is installed; apt-get install --no-install-recommends python3-swift";
  }
}

/** Settings of a bucket, as in `files.s3`. */
export interface TestBucket {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

export interface S3Server {
  readonly bucket: TestBucket;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** At the same address, with its objects. */
  start(): Promise<void>;
}

/** A server with one bucket, which ends with the test. */
export async function startS3(t: Pick<TestContext, "after">): Promise<S3Server> {
  const place = directory(t);
  const kill = async () => void (await run(SCRIPT, ["--stop", place]));
  t.after(kill);
  const start = async () => (await run(SCRIPT, [place])).stdout;
  return { bucket: JSON.parse(await start()) as TestBucket, kill, start: async () => void (await start()) };
}

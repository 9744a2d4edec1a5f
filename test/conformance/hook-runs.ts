/** Finished webhooks of a running gateway, for methods that need one. */

/** Section `hooks` that accepts them. */
export const HOOKS_SECTION = { enabled: true, token: "hook-token-of-the-conformance-test" };

/** Ids of accepted webhooks. */
export interface HookRuns {
  /** One that is done. */
  readonly runId: string;
  /** One that failed for good. */
  readonly failedRunId: string;
}

/** @param url of the gateway; `ws` or `http` */
export async function hookRuns(url: string, token = HOOKS_SECTION.token): Promise<HookRuns> {
  const base = `${url.replace(/^ws/, "http")}/hooks`;
  const headers = { authorization: `Bearer ${token}` };
  const post = async (path: string, body: object, ending: string): Promise<string> => {
    const answer = await fetch(`${base}/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    const { runId } = (await answer.json()) as { runId: string };
    for (const deadline = performance.now() + 30_000; ;) {
      const { status } = (await (await fetch(`${base}/runs/${runId}`, { headers })).json()) as { status: string };
      if (status === ending) return runId;
      if (performance.now() > deadline) throw new Error(`${path}: the run is ${status}, not ${ending}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    runId: await post("wake", { text: "something happened", mode: "next-heartbeat" }, "done"),
    failedRunId: await post("agent", { message: "hi", model: "nowhere/none", deliver: false }, "failed"),
  };
}

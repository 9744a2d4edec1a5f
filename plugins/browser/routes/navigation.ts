/** Opening an address in a tab. */
import { invalidRequest, isGatewayError, messageOf, unavailable } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { Response } from "playwright-core";
import type { Running } from "../chromium/browsers.ts";
import type { Tab } from "../chromium/tab.ts";
import { outcome, type RouteContext } from "./route.ts";

/** How far a page must load. */
export const LOAD_STATES = ["commit", "domcontentloaded", "load", "networkidle"] as const;

/** @throws GatewayError `INVALID_REQUEST` for an address that pages may not use */
export async function requireAllowed(text: string, running: Running): Promise<string> {
  if (text === "about:blank") return text;
  if (!URL.canParse(text))
    invalidRequest(`${JSON.stringify(cut(text, 200))} is not a URL; use the form https://host/path`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    invalidRequest(`the browser opens http: and https: only, not ${url.protocol}`);
  await running.guard.vet(url);
  return url.href;
}

/**
 * Opens an address. A page that does not finish loading in time is a result with `loaded: false`.
 * @throws GatewayError `INVALID_REQUEST` if the guard refused the page or one of its redirects; `UNAVAILABLE`
 */
export async function navigate(
  { tab, running }: { readonly tab: Tab; readonly running: Running },
  url: string,
  waitUntil: (typeof LOAD_STATES)[number],
  { timeoutMs, clock }: RouteContext,
): Promise<Record<string, unknown>> {
  const allowed = await requireAllowed(url, running);
  const before = running.guard.refused.total;
  const until = clock.elapsed() + timeoutMs * 0.9; // leaves time for the result
  let reply: Response | null;
  try {
    reply = await tab.page.goto(allowed, { waitUntil: "commit", timeout: until - clock.elapsed() });
  } catch (error) {
    tab.requireAlive();
    const refused = running.guard.refused.since(before).at(-1);
    if (refused) invalidRequest(`the address leads to a host that pages may not use: ${refused.reason}`);
    throw isGatewayError(error) ? error : unreachable(allowed, error);
  }
  const host = reply ? new URL(reply.url()).hostname : "";
  const refused = running.guard.refused.since(before).find((one) => one.host === host);
  if (refused && reply?.status() === 403)
    invalidRequest(`the address leads to a host that pages may not use: ${refused.reason}`);
  const loaded =
    waitUntil === "commit" ||
    (await tab.page.waitForLoadState(waitUntil, { timeout: Math.max(1, until - clock.elapsed()) }).then(
      () => true,
      () => false,
    ));
  tab.requireAlive();
  const title = loaded ? { title: cut(await tab.page.title(), 300) } : {};
  return outcome(tab, { ...(reply ? { status: reply.status() } : {}), loaded, ...title });
}

function unreachable(url: string, cause: unknown): Error {
  const first = messageOf(cause).split("\n", 1)[0] ?? "";
  return unavailable(`${new URL(url).host} cannot be opened: ${cut(first, 300)}`, { cause });
}

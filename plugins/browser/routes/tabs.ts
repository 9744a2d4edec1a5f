/** Routes of tabs. */
import { invalidRequest, notFound, Type, unavailable } from "@svc/sdk";
import { LOAD_STATES, navigate } from "./navigation.ts";
import { browserOf, outcome, profileOf, route, type RouteContext, tabOf, tabsOf, TARGET } from "./route.ts";

const Url = Type.String({ minLength: 1, maxLength: 8_000 });
const waitUntil = Type.Optional(Type.Enum([...LOAD_STATES], { description: "default load" }));

type Input = { readonly profile?: string; readonly targetId?: string };

/** Does not start a browser: without one there are no tabs. */
async function list(input: Input, context: RouteContext) {
  const running = context.browsers.get(profileOf(input, context));
  if (!running) return { running: false, tabs: [] };
  const current = running.current.get(context.caller.owner);
  return { running: true, tabs: tabsOf(running, context).map((tab) => tab.facts(tab.id === current)) };
}

async function open(input: Input & { url?: string; waitUntil?: (typeof LOAD_STATES)[number] }, context: RouteContext) {
  const running = await browserOf(input, context);
  const tab = await context.browsers.newTab(running, context.caller.owner);
  if (input.url === undefined) return outcome(tab);
  try {
    return await navigate({ tab, running }, input.url, input.waitUntil ?? "load", context);
  } catch (error) {
    await tab.close();
    throw error;
  }
}

async function focus(input: Input, context: RouteContext) {
  const tab = await tabOf(input, context);
  await tab.page.bringToFront();
  return outcome(tab);
}

async function close(input: Input, context: RouteContext) {
  const running = context.browsers.get(profileOf(input, context));
  const tabs = running ? tabsOf(running, context) : [];
  const wanted = input.targetId ?? running?.current.get(context.caller.owner);
  const tab =
    tabs.find(({ id }) => id === wanted) ?? notFound(`there is no tab "${wanted ?? ""}"; list them with GET /tabs`);
  if (!(await tab.close()))
    unavailable(`tab ${tab.id} does not close: its page hangs; stop the browser with POST /stop`);
  return { ok: true, targetId: tab.id };
}

export const tabRoutes = [
  route("GET", "/tabs", {}, list),
  route("POST", "/tabs/open", { url: Type.Optional(Url), waitUntil }, open),
  route("POST", "/tabs/focus", { targetId: Type.String() }, focus),
  route("DELETE", "/tabs/:targetId", { targetId: Type.String() }, close),
  route(
    "POST",
    "/tabs/action",
    { ...TARGET, action: Type.Enum(["list", "new", "select", "close"]), url: Type.Optional(Url) },
    ({ action, ...input }, context) => {
      if (action === "list") return list(input, context);
      if (action === "new") return open(input, context);
      if (action === "close") return close(input, context);
      return input.targetId === undefined ? invalidRequest("select needs targetId") : focus(input, context);
    },
  ),
  route("POST", "/navigate", { ...TARGET, url: Url, waitUntil }, async (input, context) => {
    const tab = await tabOf(input, context);
    return navigate({ tab, running: await browserOf(input, context) }, input.url, input.waitUntil ?? "load", context);
  }),
];

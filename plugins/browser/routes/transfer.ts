/** Routes of what pages ask for and deliver: files, dialogs, downloads and response bodies. */
import { invalidRequest, Type, untilAborted } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { Response } from "playwright-core";
import type { EndedDownload, Tab } from "../chromium/tab.ts";
import { readUploads } from "../files.ts";
import { ELEMENT, elementOf, outcome, route, tabOf, TARGET } from "./route.ts";

const MAX_BODY = 5 * 1024 * 1024;
const MAX_BODY_CHARS = 200_000;

const chooser = {
  ...TARGET,
  ...ELEMENT,
  paths: Type.Array(Type.String({ minLength: 1, maxLength: 2_000 }), { minItems: 1, maxItems: 20 }),
};
const Pattern = Type.String({ minLength: 1, maxLength: 8_000, description: "part of the URL of the response" });

function downloaded(tab: Tab, download: EndedDownload) {
  if ("error" in download) invalidRequest(`the download of ${download.name} failed: ${download.error}`);
  return outcome(tab, { download });
}

export const transferRoutes = [
  // With an element, it is clicked; without one, the next file chooser of the page gets the files.
  route("POST", "/hooks/file-chooser", chooser, async (input, context) => {
    const tab = await tabOf(input, context);
    tab.uploadNext(await readUploads(input.paths, await context.caller.uploads()));
    if (input.ref === undefined && input.selector === undefined) return outcome(tab, { armed: true });
    const { signal } = context;
    const shown = tab.page.waitForEvent("filechooser", { signal });
    await Promise.all([shown, elementOf(tab, input).then((element) => element.click({ signal }))]);
    return outcome(tab, { armed: false });
  }),
  route(
    "POST",
    "/hooks/dialog",
    { ...TARGET, accept: Type.Boolean(), promptText: Type.Optional(Type.String({ maxLength: 10_000 })) },
    async (input, context) => {
      const tab = await tabOf(input, context);
      const { accept, promptText } = input;
      tab.answerNextDialog({ accept, ...(promptText === undefined ? {} : { promptText }) });
      return outcome(tab, { armed: true });
    },
  ),
  route("POST", "/download", { ...TARGET, ...ELEMENT }, async (input, context) => {
    const tab = await tabOf(input, context);
    const before = tab.downloads.total;
    await (await elementOf(tab, input)).click({ signal: context.signal });
    return downloaded(tab, await tab.nextDownload(context.signal, before));
  }),
  route("POST", "/wait/download", TARGET, async (input, context) => {
    const tab = await tabOf(input, context);
    return downloaded(tab, await tab.nextDownload(context.signal));
  }),
  route(
    "POST",
    "/response/body",
    { ...TARGET, url: Pattern, maxChars: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_BODY_CHARS })) },
    async (input, context) => {
      const tab = await tabOf(input, context);
      const isMeant = (response: Response) => response.url().includes(input.url);
      const response =
        tab.responses.items.findLast(isMeant) ?? (await tab.page.waitForResponse(isMeant, { signal: context.signal }));
      const text = await bodyOf(response, context.signal);
      const { maxChars = MAX_BODY_CHARS } = input;
      const contentType = response.headers()["content-type"] ?? "";
      return outcome(tab, {
        response: {
          url: cut(response.url(), 2_000),
          status: response.status(),
          contentType,
          body: cut(text, maxChars),
          truncated: text.length > maxChars,
        },
      });
    },
  ),
];

async function bodyOf(response: Response, signal: AbortSignal): Promise<string> {
  const announced = Number(response.headers()["content-length"] ?? 0);
  if (announced > MAX_BODY) invalidRequest(`the response has ${announced} bytes; at most ${MAX_BODY} can be read`);
  await untilAborted(response.finished(), signal); // an endless response has no body
  const { responseBodySize } = await response.request().sizes();
  if (responseBodySize > MAX_BODY)
    invalidRequest(`the response has ${responseBodySize} bytes; at most ${MAX_BODY} can be read`);
  return (await response.body()).subarray(0, MAX_BODY).toString("utf8");
}

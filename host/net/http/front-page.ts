/** Page at `/` when no plugin serves one. It is public, so it names no version, path or plugin. */
import type { Context } from "koa";

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>svc gateway</title>
<h1>svc gateway is running</h1>
<p>This address serves no page. To use the gateway, run <code>svc --help</code> in a terminal on its machine.
<p>The documentation starts in README.md of svc.
`;

/** Choice: only for requests whose `Accept` names HTML, as browsers send; programs get the 404. @returns whether it answered */
export function answerFrontPage(context: Context): boolean {
  const { method, path } = context;
  const isAsked =
    path === "/" && (method === "GET" || method === "HEAD") && /\btext\/html\b/i.test(context.get("Accept"));
  if (!isAsked) return false;
  context.set({ "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'", Vary: "Accept" });
  context.type = "text/html; charset=utf-8";
  context.body = PAGE;
  return true;
}

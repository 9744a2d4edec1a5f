/** The pages that come with this plugin, and what is added to a page. Pure. */

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid #8888;padding-left:.75rem}`;

/** Seeded as `index.html`. */
export const FIRST_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Canvas</title>
<style>${STYLE}</style>
<h1>Canvas</h1>
<p>Nodes of this gateway display the files of this directory. Replace this page, or add other files.
</html>
`;

/** Choice: messages that the page shows; older ones are removed. */
const MAX_MESSAGES = 200;

/**
 * The page for A2UI messages. Choice: it shows the messages as text, since rendering their components is the work of a
 * client's library. Its functions are the commands `canvas.a2ui.push`, `.pushJSONL` and `.reset` of a node.
 * @param aliases further names under which the functions are found: `<name>A2UI`
 */
export function a2uiPage(aliases: readonly string[]): string {
  const names = JSON.stringify(["svc", ...aliases].map((name) => `${name}A2UI`)).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>A2UI messages</title>
<style>${STYLE}</style>
<h1>A2UI messages</h1>
<p>This page receives A2UI messages and shows them as text. It renders no components: that takes a client with an A2UI library.
<div id="messages"></div>
<script>
(() => {
  const list = document.getElementById("messages");
  const push = (messages) => {
    if (!Array.isArray(messages)) throw new TypeError("push takes a list of messages");
    for (const message of messages) {
      const shown = document.createElement("pre");
      shown.textContent = JSON.stringify(message, null, 2);
      list.append(shown);
      if (list.childElementCount > ${MAX_MESSAGES}) list.firstElementChild.remove();
    }
    return { ok: true, count: messages.length };
  };
  const pushJSONL = (text) => push(String(text).split("\\n").filter((line) => line.trim()).map((line) => JSON.parse(line)));
  const reset = () => (list.replaceChildren(), { ok: true });
  for (const name of ${names}) globalThis[name] = Object.freeze({ push, pushJSONL, reset });
})();
</script>
</html>
`;
}

/** Adds the script that reloads a page after a change. @param stream path of the stream of changes */
export function withLiveReload(html: string, stream: string): string {
  const script = `<script>new EventSource(${JSON.stringify(stream)}).addEventListener("reload",()=>location.reload())</script>`;
  const end = html.toLowerCase().lastIndexOf("</body>");
  return end < 0 ? `${html}\n${script}\n` : html.slice(0, end) + script + html.slice(end);
}

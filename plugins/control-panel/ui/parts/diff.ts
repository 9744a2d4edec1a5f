/** A difference in unified format, with its lines in colour. */
import { html, type TemplateResult } from "lit";
import "./diff.css";

export function diffOf(text: string): TemplateResult {
  // The names of the two sides say nothing that the title does not say.
  const lines = text.split("\n").filter((line, index) => index > 1 || !/^(---|\+\+\+) /.test(line));
  return html`<pre class="diff" tabindex="0">
${lines.map((line) => html`<span class=${kindOf(line)}>${line} </span>`)}</pre>`;
}

function kindOf(line: string): string {
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "";
}

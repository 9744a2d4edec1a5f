/** `svc approvals watch`: stays connected as an approver, prints each question, and reads answers line by line. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { answerPrompt, endLine, OpenQuestions, questionLines, type QuestionNews } from "@svc/kit/exec";
import { isGatewayError, messageOf } from "@svc/sdk";
import { type CommandContext, isTerminal, visible, withNext } from "@svc/sdk/cli";

/**
 * Ends when the input of a terminal ends, or when the connection closes and is not restored.
 * @returns the exit code @throws GatewayError the connection was refused
 */
export async function watchQuestions(context: CommandContext): Promise<number> {
  const { json, print, note, input } = context;
  const client = await context.connect({ scopes: ["operator.approvals"], reconnect: true });
  const tell = (news: QuestionNews) => {
    if (json) print(news);
    else if (news.event === "ended") print(endLine(news));
    else for (const line of ["", visible(news.question.id), ...questionLines(news.question)]) print(line);
    if (!json && questions.first) note(answerPrompt(questions.first));
  };
  const questions = new OpenQuestions(client, tell);
  const refresh = () => void questions.refresh().catch((error: unknown) => note(messageOf(error)));
  client.onGap(refresh);
  client.onReconnect(refresh);
  const gone = new Promise<number>((resolve) => {
    client.onClose(({ code, reason, willReconnect }) => {
      const why = reason ? `${code} ${visible(reason)}` : String(code);
      note(`connection to the gateway lost (${why})${willReconnect ? "; reconnecting" : ""}`);
      if (!willReconnect) resolve(1);
    });
  });
  try {
    await questions.refresh();
    if (!json && !questions.first) note("Waiting for questions. Press Ctrl-C to leave.");
    if (json) return await gone;
    const lines = createInterface({ input });
    lines.on("line", (line) => void answer(questions, line, note));
    // When a pipe has ended, it sends no more answers, but questions are still printed.
    const left = once(lines, "close").then(() => (isTerminal(input) ? 0 : gone));
    return await Promise.race([left, gone]);
  } catch (error) {
    throw withNext(error, { plugin: "approvals", step: "svc approvals list" });
  } finally {
    questions.close();
    await client.close();
  }
}

async function answer(questions: OpenQuestions, line: string, note: (line: string) => void): Promise<void> {
  try {
    if (!(await questions.answer(line)) && line.trim() !== "")
      note(questions.first ? answerPrompt(questions.first) : "No question is pending.");
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    note(`Refused: ${visible(error.message)}`);
  }
}

/** `svc approvals watch`: stays connected as an approver, prints each question, and reads answers line by line. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { answerPrompt, endLine, OpenQuestions, questionLines, type QuestionNews } from "@svc/kit/exec";
import { isGatewayError, messageOf } from "@svc/sdk";
import { type CommandContext, isTerminal, visible, withNext } from "@svc/sdk/cli";

/** @returns the exit code, once the terminal's input ends or the connection is lost for good. @throws GatewayError the connection was refused */
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
      note(`connection to the gateway lost (${code} ${visible(reason)})${willReconnect ? "; reconnecting" : ""}`);
      if (!willReconnect) resolve(1);
    });
  });
  try {
    await questions.refresh();
    if (!json && !questions.first) note("Waiting for questions. Press Ctrl-C to leave.");
    if (json) return await gone;
    const lines = createInterface({ input });
    lines.on("line", (line) => void answer(questions, line, note));
    const left = once(lines, "close").then(() => (isTerminal(input) ? 0 : gone)); // after the end of a pipe no answers follow, but questions are still printed
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

/** Sends a newly opened GitHub issue to an agent, and skips other events of issues. */
import { defineTransform, Type } from "@svc/sdk/transform";

export default defineTransform({
  payload: Type.Object({
    action: Type.String(),
    issue: Type.Object({
      number: Type.Integer(),
      title: Type.String(),
      body: Type.Union([Type.String(), Type.Null()]),
      labels: Type.Array(Type.Object({ name: Type.String() })),
    }),
    repository: Type.Object({ full_name: Type.String() }),
  }),

  // The gateway checks these before a new version of this file goes live.
  examples: [
    {
      name: "opened",
      payload: {
        action: "opened",
        issue: { number: 7, title: "It is slow", body: null, labels: [{ name: "bug" }] },
        repository: { full_name: "acme/shop" },
      },
      expect: {
        kind: "agent",
        message: "Issue #7 of acme/shop (bug): It is slow",
        name: "GitHub",
        sessionKey: "hook:github:acme/shop:7",
      },
    },
    {
      name: "labeled",
      payload: {
        action: "labeled",
        issue: { number: 7, title: "It is slow", body: null, labels: [] },
        repository: { full_name: "acme/shop" },
      },
      expect: null,
    },
  ],

  transform({ payload: { action, issue, repository } }) {
    if (action !== "opened") return null;
    const labels = issue.labels.map(({ name }) => name).join(", ") || "no label";
    const about = `Issue #${issue.number} of ${repository.full_name} (${labels}): ${issue.title}`;
    return {
      kind: "agent",
      message: issue.body === null ? about : `${about}\n\n${issue.body}`,
      name: "GitHub",
      sessionKey: `hook:github:${repository.full_name}:${issue.number}`,
    };
  },
});

# The image of a Millrace job. Build: docker build -t millrace .
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY .ci/node-24 .ci/node-24
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY .ci/pack-reference.ts .ci/pack-reference.ts
RUN ["npm", "run", "build"]
RUN ["npm", "prune", "--omit=dev", "--ignore-scripts"]

FROM node:24-bookworm-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="millrace" \
      org.opencontainers.image.description="Batch enrichment and verification of contact files" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
WORKDIR /app
COPY package.json LICENSE ./
COPY jobs/sample.yaml jobs/sample.yaml
COPY jobs/providers jobs/providers
COPY fixtures/sample fixtures/sample
COPY fixtures/leads.csv fixtures/leads.csv
COPY fixtures/lists fixtures/lists
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The node user, by number, so that a cluster can tell that it is not root.
USER 1000:1000
# Relative paths start here: docker run -v "$PWD:/data" millrace run ...
WORKDIR /data
# A batch job is well while its process is neither paused nor dead: paused longer than its lease, it loses the job. How far it has come, the log says, and how it went, the exit code.
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=2 CMD ["node", "-e", "process.exitCode = /^State:\\s+[TtXZ]/m.test(require('node:fs').readFileSync('/proc/1/status', 'utf8')) ? 1 : 0"]
# In exec form, so that signals reach Millrace itself.
ENTRYPOINT ["node", "/app/dist/cli/millrace.js"]
CMD ["--help"]

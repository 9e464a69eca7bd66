import { createTheme, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { useState } from 'react';
import { BrowserRouter, Navigate, Route, Routes } from 'react-router';
import { newQueryClient } from './api/query-client.js';
import { DemoPage } from './demo/demo-page.js';
import { DocsPage } from './docs/docs-page.js';
import { GoalPage } from './goals/goal-page.js';
import { GoalsPage } from './goals/goals-page.js';
import { LiveProvider } from './live/live.js';
import { ReceiptsPage } from './receipts/receipts-page.js';
import { RunPage } from './run/run-page.js';
import { RunsPage } from './runs/runs-page.js';
import { SchedulePage } from './schedules/schedule-page.js';
import { SchedulesPage } from './schedules/schedules-page.js';
import { LoginPage } from './session/login-page.js';
import { SignedIn } from './session/signed-in.js';
import { Shell } from './shell/shell.js';
import { WhyPage } from './why/why-page.js';

const theme = createTheme({ primaryColor: 'teal', defaultRadius: 'sm', cursorType: 'pointer' });

export function App({ addressToken }: { readonly addressToken: string | null }) {
  const [client] = useState(newQueryClient);
  return (
    // The policy lets no inline style element in: variables and classes come from our own files.
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
      withStaticClasses={false}
    >
      <QueryClientProvider client={client}>
        <BrowserRouter>
          <Routes>
            <Route path="/login" element={<LoginPage addressToken={addressToken} />} />
            <Route
              element={
                <SignedIn>
                  <LiveProvider>
                    <Shell />
                  </LiveProvider>
                </SignedIn>
              }
            >
              <Route path="/" element={<RunsPage />} />
              <Route path="/runs/:id" element={<RunPage />} />
              <Route path="/why" element={<WhyPage />} />
              <Route path="/receipts" element={<ReceiptsPage />} />
              <Route path="/schedules" element={<SchedulesPage />} />
              <Route path="/schedules/:id" element={<SchedulePage />} />
              <Route path="/goals" element={<GoalsPage />} />
              <Route path="/goals/:id" element={<GoalPage />} />
              <Route path="/demo/:delivery?" element={<DemoPage />} />
              <Route path="/docs" element={<DocsPage />} />
              <Route path="*" element={<Navigate to="/" replace />} />
            </Route>
          </Routes>
        </BrowserRouter>
      </QueryClientProvider>
    </MantineProvider>
  );
}
